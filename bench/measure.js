import { cpus } from 'node:os';

/** Median, least and most of some numbers. */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** What the figures were taken on. */
export function machine() {
  return `${cpus()[0].model.trim()} x ${cpus().length}, Node ${process.version}, ${process.platform}`;
}

/**
 * Calls per second of each contestant: interleaved rounds, so that a machine that slows down slows
 * all of them; the first round warms up and is not counted.
 */
export async function race(contestants, { rounds = 5, millis = 300, batch = 100 } = {}) {
  const rates = contestants.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, { call }] of contestants.entries()) {
      let calls = 0;
      const start = performance.now();
      let elapsed = 0;
      while (elapsed < millis) {
        for (let n = 0; n < batch; n++) await call(calls + n);
        calls += batch;
        elapsed = performance.now() - start;
      }
      if (round > 0) rates[i].push((calls / elapsed) * 1000);
    }
  }
  return contestants.map(({ name }, i) => ({ name, ...spread(rates[i]) }));
}

/** A table of rates, each with its ratio to the row named `base`. */
export function table(title, rows, base) {
  const reference = rows.find(({ name }) => name === base).median;
  const width = Math.max(...rows.map(({ name }) => name.length));
  const lines = rows.map(({ name, median, min, max }) => {
    const figures = [median, min, max].map((rate) =>
      Math.round(rate).toLocaleString('en').padStart(11),
    );
    return `  ${name.padEnd(width)} ${figures.join('')} ${(median / reference).toFixed(2).padStart(8)} x`;
  });
  const head = `  ${''.padEnd(width)} ${['median/s', 'min', 'max'].map((h) => h.padStart(11)).join('')}    ratio`;
  return [`\n${title}`, head, ...lines].join('\n');
}
