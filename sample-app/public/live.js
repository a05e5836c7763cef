// The live page: every decision of the server arrives as an event, and is drawn until it has left the window.

const WINDOW_MS = 10_000;
const SLICES = 10;
const WIDTH = 400;
const HEIGHT = 96;
const STREAM_EVERY_MS = 250;

const ALGORITHMS = {
  'sliding-log': 'Never more than 10 in any 10 seconds: each request leaves the window by itself.',
  'fixed-window': '10 in each 10 seconds of the clock: at the edge all come back at once.',
  'sliding-counter': 'Never more than 10 in any 10 seconds, counted in slices of one.',
  'token-bucket': '10 at once, and one more each second.',
};

const byId = (id) => document.getElementById(id);
/** By algorithm: its element, the hits that are still to be seen, and its last word. */
const cards = new Map(Object.keys(ALGORITHMS).map((name) => [name, makeCard(name)]));
/** How far the server's clock is ahead of the browser's. */
let aheadMs = 0;

function makeCard(name) {
  const card = byId('algorithm').content.cloneNode(true).firstElementChild;
  card.id = name;
  card.querySelector('h2').textContent = name;
  card.querySelector('.promise').textContent = ALGORITHMS[name];
  card.querySelector('svg').setAttribute('aria-label', `The window of ${name}`);
  for (const button of card.querySelectorAll('[data-requests]')) {
    button.addEventListener('click', () => send(name, Number(button.dataset.requests)));
  }
  const stream = card.querySelector('[data-stream]');
  let timer;
  stream.addEventListener('click', () => {
    const on = stream.getAttribute('aria-pressed') !== 'true';
    stream.setAttribute('aria-pressed', String(on));
    clearInterval(timer);
    if (on) timer = setInterval(() => send(name, 1), STREAM_EVERY_MS);
  });
  byId('algorithms').append(card);
  return { card, hits: [], last: undefined };
}

async function send(name, requests) {
  const answers = Array.from({ length: requests }, () => fetch(`live/${name}`, { method: 'POST' }));
  showAnswer((await Promise.all(answers)).at(-1));
}

const FIELDS = ['ratelimit-policy', 'ratelimit', 'retry-after'];

async function showAnswer(response) {
  const fields = FIELDS.filter((field) => response.headers.has(field));
  const head = `${response.status} ${response.statusText}`;
  const lines = fields.map((field) => `${field}: ${response.headers.get(field)}`);
  byId('last').textContent = [head, ...lines, '', await response.text()].join('\n');
}

function showDecision({ outcome, decision, offenders }) {
  const count = byId(`count-${outcome}`);
  count.textContent = String(Number(count.textContent) + 1);
  if (decision === undefined) return;
  for (const policy of decision.policies) {
    const card = cards.get(policy.name);
    if (card === undefined) continue;
    const [rule] = policy.rules;
    card.hits.push({ at: decision.decidedAt, allowed: policy.allowed });
    card.last = { ...rule, at: decision.decidedAt };
    const wait = policy.allowed ? '' : `, the next in ${Math.ceil(rule.retryAfterMs / 1000)} s`;
    const from = decision.source === 'memory' ? '' : `, by ${decision.source}`;
    card.card.querySelector('.state').textContent = `${rule.remaining} left${wait}${from}`;
  }
  showStore(decision.source);
  byId('offenders').replaceChildren(
    ...(offenders.length === 0 ? [{ key: 'nobody' }] : offenders).map(({ key, count }) =>
      item(count === undefined ? key : `${key}: denied ${count} times`),
    ),
  );
}

function showStore(source) {
  const element = byId('store');
  element.classList.toggle('down', source === 'fallback');
  element.textContent =
    source === 'fallback'
      ? 'Redis is away: this process decides by itself.'
      : source === 'memory'
        ? 'Decided in process.'
        : 'Decided by Redis.';
}

function item(text) {
  const element = document.createElement('li');
  element.textContent = text;
  return element;
}

function shape(name, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** Now is at the right edge, a window ago at the left. */
const xOf = (at, now) => WIDTH * (1 - (now - at) / WINDOW_MS);

function drawHits(hits, now) {
  return hits.map(({ at, allowed }) =>
    shape('rect', {
      x: xOf(at, now) - 2,
      y: allowed ? 40 : 8,
      width: 4,
      height: allowed ? 48 : 20,
      class: allowed ? 'hit-admitted' : 'hit-denied',
    }),
  );
}

function drawSlices(hits, now) {
  const sliceMs = WINDOW_MS / SLICES;
  const counts = new Map();
  for (const { at, allowed } of hits) {
    const slice = Math.floor(at / sliceMs);
    if (allowed) counts.set(slice, (counts.get(slice) ?? 0) + 1);
  }
  return [...counts].map(([slice, count]) =>
    shape('rect', {
      x: xOf((slice + 1) * sliceMs, now) - WIDTH / SLICES + 1,
      y: HEIGHT - 8 * count,
      width: WIDTH / SLICES - 2,
      height: 8 * count,
      class: 'fill',
    }),
  );
}

function drawEdge(now) {
  const x = xOf(Math.floor(now / WINDOW_MS) * WINDOW_MS, now);
  return [shape('line', { x1: x, x2: x, y1: 0, y2: HEIGHT, class: 'edge' })];
}

function drawLevel(last, now) {
  if (last === undefined) return [];
  const tokens = Math.min(last.limit, last.remaining + ((now - last.at) / WINDOW_MS) * last.limit);
  const height = (HEIGHT * tokens) / last.limit;
  return [shape('rect', { x: 0, y: HEIGHT - height, width: WIDTH, height, class: 'fill' })];
}

const BACKDROPS = {
  'sliding-log': () => [],
  'fixed-window': (card, now) => drawEdge(now),
  'sliding-counter': (card, now) => drawSlices(card.hits, now),
  'token-bucket': (card, now) => drawLevel(card.last, now),
};

function draw() {
  const now = Date.now() + aheadMs;
  for (const [name, card] of cards) {
    // A slice is to be seen as long as any of it is.
    card.hits = card.hits.filter(({ at }) => at > now - WINDOW_MS * (1 + 1 / SLICES));
    const svg = card.card.querySelector('svg');
    svg.replaceChildren(...BACKDROPS[name](card, now), ...drawHits(card.hits, now));
  }
}

const calm = matchMedia('(prefers-reduced-motion: reduce)');

function animate() {
  draw();
  // Who wants little motion sees the window move once a second.
  if (calm.matches) setTimeout(animate, 1000);
  else requestAnimationFrame(animate);
}

byId('fail').addEventListener('click', async () => {
  const body = JSON.stringify({ password: 'wrong' });
  const headers = { 'content-type': 'application/json' };
  showAnswer(await fetch('login', { method: 'POST', headers, body }));
});

const events = new EventSource('live/events');
const on = (type, show) => events.addEventListener(type, ({ data }) => show(JSON.parse(data)));
on('decision', showDecision);
on('store', (event) => {
  if (event.type === 'store-down') showStore('fallback');
});
on('alert', ({ name, key, count, at }) => {
  byId('alerts').prepend(
    item(`${new Date(at).toLocaleTimeString()}: ${name}, ${count} times by ${key}`),
  );
});
on('heartbeat', ({ at }) => {
  aheadMs = at - Date.now();
  if (byId('store').textContent.startsWith('Connecting')) byId('store').textContent = 'Connected.';
});
events.addEventListener('error', () => {
  byId('store').textContent = 'Connecting …';
});
animate();
