import ipaddr from 'ipaddr.js';
import { isIPv4 } from 'node:net';

/** One shared bucket for everything that is no address, so that no spelling opens a fresh one. */
export const INVALID_ADDRESS = 'invalid';

/** Longer than any address with a zone; what is longer is not parsed. */
const LONGEST_ADDRESS = 64;

/** RFC 6052: an IPv4 address behind a NAT64, in the last 32 bits. */
const NAT64 = [ipaddr.IPv6.parse('64:ff9b::'), 96] as const;
/** RFC 3056: 16 bits, then the site's IPv4 address; everything after that is the site's to choose. */
const SIX_TO_FOUR = [ipaddr.IPv6.parse('2002::'), 16] as const;

/**
 * A client address in the one form in which it is counted: IPv4 dotted, also when mapped into IPv6
 * or behind NAT64; IPv6 as its prefix, because a client owns all addresses below that; everything
 * else `'invalid'`. Decided by bits, never by spelling.
 *
 * @example
 * canonicalAddress('::ffff:1.2.3.4', 56); // '1.2.3.4'
 * canonicalAddress('2001:db8::1', 56);    // '2001:db8::/56'
 */
export function canonicalAddress(address: unknown, ipv6Prefix: number): string {
  if (typeof address !== 'string') return INVALID_ADDRESS;
  // A dotted quad is canonical already: isIPv4 refuses leading zeros and other spellings.
  if (isIPv4(address)) return address;
  return parse(address, ipv6Prefix) ?? INVALID_ADDRESS;
}

/** The canonical form of an address; any other text as it is. */
export function canonicalSubject(subject: string, ipv6Prefix: number): string {
  if (isIPv4(subject)) return subject;
  return parse(subject, ipv6Prefix) ?? subject;
}

function parse(text: string, ipv6Prefix: number): string | undefined {
  if (text.length > LONGEST_ADDRESS || !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.IPv6.parse(text);
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString();
  if (address.match(...NAT64)) return address.toByteArray().slice(12).join('.');
  const prefix = address.match(...SIX_TO_FOUR) ? Math.min(ipv6Prefix, 48) : ipv6Prefix;
  const bytes = address.toByteArray().map((byte, i) => {
    const kept = Math.min(8, Math.max(0, prefix - 8 * i));
    return byte & (0xff << (8 - kept)) & 0xff;
  });
  return `${new ipaddr.IPv6(bytes).toRFC5952String()}/${prefix}`;
}
