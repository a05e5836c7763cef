import type { ExecutionContext } from '@nestjs/common';
import type { Outcome } from '../policy-options.js';
import type { Refusal } from './refusal.js';

/**
 * What the guard needs of a transport: one small adapter for each, without state. Pass your own in
 * the module's option `contexts`; what is optional may be left out.
 *
 * @example
 * const rabbitAdapter: ContextAdapter = {
 *   type: 'rmq', // what context.getType() says
 *   requestOf: (context) => context.getArgs<unknown[]>(),
 *   markOf: (context) => context.getArgByIndex(1), // the raw message
 * };
 */
export interface ContextAdapter {
  /** What `context.getType()` says. */
  readonly type: string;
  /**
   * An object that lives exactly as long as one call of a handler, and is the same one for all its
   * guards: `context.getArgs()` always is. Never a connection's, nor one that a transport may use
   * again: what has been counted with an object is not counted again with it.
   */
  requestOf(context: ExecutionContext): object;
  /**
   * An argument that belongs to this call alone, by which `@RateLimitInfo()` finds the decision: Nest
   * hands parameter decorators a copy of the arguments. Absent: what `requestOf` gives is one.
   */
  markOf?(context: ExecutionContext): unknown;
  /** The client's address as text. Absent: all share the bucket of addresses that cannot be read. */
  addressOf?(context: ExecutionContext): unknown;
  /** The authenticated user, never what the caller merely says. Absent: nobody, so addresses count. */
  userOf?(context: ExecutionContext): unknown;
  /**
   * The response, or undefined where this call has none. Several calls may share it: the header
   * fields then tell all their policies. Absent: the request has a response of its own.
   */
  responseOf?(context: ExecutionContext): object | undefined;
  /** Sets a header field, where a response exists. Absent: there are no header fields. */
  setHeader?(context: ExecutionContext, name: string, value: string): void;
  /**
   * Calls `listener` once, when it is known how the request ended. Absent: whether the handler
   * returned or threw is observed.
   */
  onFinished?(context: ExecutionContext, listener: (outcome: Outcome) => void): void;
  /**
   * The exception by which this transport refuses. Absent: `RateLimitException` and
   * `RateLimitUnavailableException`, which are Nest's HTTP exceptions.
   */
  refuse?(refusal: Refusal, context: ExecutionContext): Error | Promise<Error>;
}
