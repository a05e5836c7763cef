export { ManualClock } from './manual-clock.js';
export { describeStore, type OpenedStore, type Runner } from './store-conformance.js';
export {
  driveTime,
  type DrivenTime,
  SlidingWindowTestingModule,
} from './sliding-window-testing.module.js';
