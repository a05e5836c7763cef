import type { SelfCheck } from '../stores/redis/self-check.js';

/** What happens to the store that an operator has to know. */
export type StoreEvent =
  /** Too many questions in a row were not answered: `onStoreError` decides from now on. */
  | { readonly type: 'store-down'; readonly reason: string }
  /** It answers again. */
  | { readonly type: 'store-up' }
  /** One question was not answered; `ofOneKey`: what is wrong is the state of one key. */
  | { readonly type: 'store-error'; readonly reason: string; readonly ofOneKey: boolean }
  /** Redis was looked at, at start or at a new connection. */
  | { readonly type: 'self-check'; readonly check: SelfCheck };
