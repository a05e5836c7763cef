import { describe, it } from '@jest/globals';
import { describeStore } from '../../lib/testing/index.js';
import { openServices, STORES } from '../support/services.js';

for (const store of STORES) {
  describeStore({ describe, it }, store, (clock) => openServices(store, { clock }));
}

describeStore({ describe, it }, 'redis behind the denial cache', (clock) =>
  openServices('redis', { clock, denyCache: { maxAge: '1d' } }),
);
