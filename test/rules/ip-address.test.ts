import { describe, expect, it } from '@jest/globals';
import { canonicalAddress, canonicalSubject } from '../../lib/rules/ip-address.js';

describe('an address', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['::FFFF:102:304', '1.2.3.4'],
    ['0:0:0:0:0:FFFF:1.2.3.4', '1.2.3.4'],
    ['0:0:0:0:0:ffff:0102:0304', '1.2.3.4'],
    ['2001:db8::1.2.3.4', '2001:db8::/56'],
    ['2001:DB8:0:0::1', '2001:db8::/56'],
    ['fe80::1%eth0', 'fe80::/56'],
    ['64:ff9b::1.2.3.4', '1.2.3.4'],
    ['2001:db8::1', '2001:db8::/56'],
    ['2001:0DB8:0000:0000:0000:0000:0000:0001', '2001:db8::/56'],
    ['2001:db8:0:ff:ffff::', '2001:db8::/56'],
    ['2001:db8:0:100::', '2001:db8:0:100::/56'],
    ['2002:102:304:5678::1', '2002:102:304::/48'],
    ['::1', '::/56'],
  ])('%s is counted as %s', (address, canonical) => {
    expect(canonicalAddress(address, 56)).toBe(canonical);
  });

  it.each([
    [128, '2001:db8::1/128'],
    [64, '2001:db8::/64'],
    [1, '::/1'],
  ])('shares a bucket by a prefix of %i bits', (prefix, canonical) => {
    expect(canonicalAddress('2001:db8::1', prefix)).toBe(canonical);
  });

  it.each([
    [64, 1000, (i: number) => `2001:db8:1:2:${i.toString(16)}:${(i * 31).toString(16)}::`],
    [56, 256, (i: number) => `2001:db8:1:ab${i.toString(16).padStart(2, '0')}::1`],
  ])('is one key for a whole /%i', (prefix, count, address) => {
    const addresses = Array.from({ length: count }, (_, i) => address(i));
    expect(new Set(addresses).size).toBe(count);
    expect(new Set(addresses.map((one) => canonicalAddress(one, prefix))).size).toBe(1);
  });

  it.each([
    undefined,
    null,
    5,
    {},
    '',
    'junk',
    ' 1.2.3.4',
    '1.2.3.4 ',
    '1.2.3.4:80',
    '[2001:db8::1]:80',
    '127.1',
    '0x7f.0.0.1',
    '9'.repeat(3000),
    '1.2.3',
    '01.2.3.4',
    '1.2.3.4.5',
    'localhost',
    'a'.repeat(99),
  ])('that is none is counted with all that are none: %j', (address) => {
    expect(canonicalAddress(address, 56)).toBe('invalid');
  });

  it('leaves a subject that is no address as it is', () => {
    expect(canonicalSubject('user-1', 56)).toBe('user-1');
    expect(canonicalSubject('::ffff:1.2.3.4', 56)).toBe('1.2.3.4');
  });
});
