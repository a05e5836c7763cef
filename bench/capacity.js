/** What measured microseconds of Redis mean for a fleet: shares of the one core a server decides on. */
const FLEETS = [
  [1, 1000],
  [10, 100],
  [10, 1000],
  [100, 100],
  [100, 1000],
];

const redisMicros = (rows) => rows.find(({ id }) => id === 'ours').redisMicros.median;

/**
 * For each fleet the share of a Redis core: when every decision goes in a call of its own, the worst,
 * and when 64 go in one, the best.
 */
export function capacity({ cases }) {
  const single = redisMicros(cases['callers-1'].rows);
  const full = redisMicros(cases.admitted.rows);
  return FLEETS.map(([instances, perInstance]) => {
    const together = instances * perInstance;
    return {
      instances,
      perInstance,
      together,
      alone: (together * single) / 1e6,
      batched: (together * full) / 1e6,
    };
  });
}
