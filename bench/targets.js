/** The figures that were promised, as ratios of one run. */
const at = (results, id) => new Map(results.cases[id].rows.map((row) => [row.id, row]));

const PEERS = ['flexible', 'throttler', 'rate-limit-redis'];

function compare(results, id, figure, ours = 'ours') {
  const rows = at(results, id);
  const own = rows.get(ours)[figure].median;
  const peers = PEERS.filter((peer) => rows.has(peer)).map((peer) => rows.get(peer)[figure].median);
  return {
    toMost: own / Math.max(...peers),
    toLeast: own / Math.min(...peers),
    to: (other) => own / rows.get(other)[figure].median,
  };
}

const most = (what, limit, measured) => ({
  what,
  target: `≤ ${limit} ×`,
  measured,
  reached: measured <= limit,
});
const least = (what, limit, measured) => ({
  what,
  target: `≥ ${limit} ×`,
  measured,
  reached: measured >= limit,
});

function bytesRatio(results) {
  const { rows } = results.bytes.find(({ entries }) => entries === 1000);
  const [log, set] = ['sliding-log', 'sorted set (ZSET)'].map((name) =>
    rows.find((row) => row.name === name),
  );
  return log.bytes / set.bytes;
}

/** Each target with what was measured, and whether it is reached. */
export function targets(results) {
  const admitted = compare(results, 'admitted', 'perSecond');
  const denied = compare(results, 'denied', 'perSecond');
  const cached = compare(results, 'denied', 'perSecond', 'ours-deny-cache');
  const client = (id) => compare(results, id, 'clientMicros').toLeast;
  const redis = (id) => compare(results, id, 'redisMicros').to('rate-limit-redis');
  return [
    least('decisions/s admitted, to the fastest peer', 1.5, admitted.toMost),
    least('decisions/s admitted, to bare INCR', 1, admitted.to('incr')),
    least('decisions/s denied, denial cache off, to the fastest peer', 2.2, denied.toMost),
    least('decisions/s denied, denial cache on, to the fastest peer', 15, cached.toMost),
    most('client CPU per decision admitted, to the leanest peer', 0.35, client('admitted')),
    most('client CPU per decision denied, to the leanest peer', 0.35, client('denied')),
    most('Redis CPU, 100 callers admitted, to rate-limit-redis', 0.9, redis('load-admitted')),
    most('Redis CPU, 100 callers denied, to rate-limit-redis', 0.5, redis('load-denied')),
    most('Redis CPU, 1 caller admitted, to rate-limit-redis', 1.6, redis('callers-1')),
    most('Redis CPU, 1 caller denied, to rate-limit-redis', 1.6, redis('one-denied')),
    most('bytes of a log of 1 000 entries, to a ZSET', 0.1, bytesRatio(results)),
  ];
}

/** What batching costs a caller who is alone: decisions/s to the same script sent plainly. */
export function aloneRatio(results) {
  return compare(results, 'callers-1', 'perSecond').to('same-script');
}
