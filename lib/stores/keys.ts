import { createHash, createHmac } from 'node:crypto';
import type { PlanState } from '../algorithms/plan.js';
import type { Charge } from './store.js';

/** Above this a text is replaced by its digest, so that every key is bounded. */
const LONGEST_PLAIN = 64;

/** Characters that stand for themselves. Not among them: what a key's own form uses, % and #. */
const PLAIN = new Uint8Array(128);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~@+:/=,') {
  PLAIN[char.charCodeAt(0)] = 1;
}

/**
 * Caller's text as part of a key: injective and bounded. Two different texts never give one result,
 * whatever they hold (braces, separators, NUL, lone surrogates, nothing at all), and none gives a
 * result that ends a hash tag. Long texts become `#` and their SHA-256.
 */
export function encodeText(text: string): string {
  if (text.length > LONGEST_PLAIN) return digest(text);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 128 || PLAIN[code] === 0) return escape(text);
  }
  return text === '' ? '%' : text;
}

/**
 * Caller's text as a map's key: itself unless it is long. No text gives what another one's encoding
 * gives, because those that look encoded are encoded.
 */
export function boundText(text: string): string {
  const first = text.charCodeAt(0);
  return text.length > LONGEST_PLAIN || first === 35 || first === 37 ? encodeText(text) : text;
}

function escape(text: string): string {
  let result = '';
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 128 && PLAIN[code] === 1) result += text[i];
    else if (code < 256) result += '%' + code.toString(16).padStart(2, '0');
    else result += '%u' + code.toString(16).padStart(4, '0');
  }
  return result.length > 2 * LONGEST_PLAIN ? digest(text) : result;
}

function digest(text: string): string {
  // UTF-16 keeps lone surrogates apart, which UTF-8 would all turn into one character.
  return '#' + createHash('sha256').update(text, 'utf16le').digest('base64url');
}

/** A policy's subject, as a key of a map in this process. */
export function subjectKey({ plan, type, subject }: Charge): string {
  return `${plan.policy}|${type}|${boundText(subject)}`;
}

/** The names of everything that is kept in Redis. */
export class Keys {
  private readonly encode: (text: string) => string;

  /**
   * @param prefix First part of each key.
   * @param secret With it, subjects, counters' keys and event ids are stored as HMAC-SHA-256, so that
   * what Redis holds names nobody.
   */
  constructor(
    private readonly prefix: string,
    secret?: string,
  ) {
    this.encode = secret === undefined ? encodeText : (text) => hmac(secret, text);
  }

  /** `<prefix>:{<policy>|<type>|<subject>}:<state>`; braces hold all states of a policy on one slot. */
  limit({ plan, type, subject }: Charge, state: PlanState): string {
    return `${this.prefix}:{${plan.policy}|${type}|${this.encode(subject)}}:${state.suffix}`;
  }

  /** `<prefix>:{counter|<key>}:<state>`. */
  counter(key: string, state: string): string {
    return `${this.prefix}:{counter|${this.encode(key)}}:${state}`;
  }

  /** An event's id, as a member of a counter's log. */
  eventId(id: string): string {
    return this.encode(id);
  }
}

function hmac(secret: string, text: string): string {
  return '#' + createHmac('sha256', secret).update(text, 'utf16le').digest('base64url');
}

export const EVENT_LOG = 'event-log';

export function sliceRing(sliceMs: number, slices: number): string {
  return `slice-ring.${sliceMs}x${slices}`;
}
