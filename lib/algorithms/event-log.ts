/**
 * Events of a sliding window, counted; twin of lua/counters/event-log.lua. An event at t counts in
 * [t, t + window). Events are kept for the longest window used, so that a look through a short
 * window forgets nothing a longer one still counts.
 */
export interface EventLog {
  /** Oldest first; those before `first` are gone. */
  events: Event[];
  first: number;
  readonly ids: Map<string, Event>;
  longestMs: number;
}

interface Event {
  at: number;
  readonly id: string | undefined;
}

export function newEventLog(): EventLog {
  return { events: [], first: 0, ids: new Map(), longestMs: 0 };
}

/** Records the event unless its id is in the window already; returns the window's count. */
export function recordEvent(
  log: EventLog,
  windowMs: number,
  id: string | undefined,
  now: number,
): number {
  refresh(log, windowMs, now);
  const seen = id === undefined ? undefined : log.ids.get(id);
  if (seen === undefined || seen.at <= now - windowMs) {
    if (seen !== undefined) removeEvent(log, id!, now);
    const event = { at: now, id };
    log.events.push(event);
    if (id !== undefined) log.ids.set(id, event);
  }
  return countEvents(log, windowMs, now);
}

export function countEvents(log: EventLog, windowMs: number, now: number): number {
  // Of a longer window than any used before, only what has been kept is known.
  return log.events.length - firstAfter(log, now - Math.min(windowMs, log.longestMs));
}

/** Counts per part of the window, oldest first. */
export function eventTimeline(
  log: EventLog,
  windowMs: number,
  buckets: number,
  now: number,
): number[] {
  const kept = now - log.longestMs;
  let from = firstAfter(log, Math.max(now - windowMs, kept));
  return Array.from({ length: buckets }, (_, i) => {
    const last = i === buckets - 1;
    const end = now - windowMs + Math.floor((windowMs * (i + 1)) / buckets);
    const to = last ? log.events.length : firstAfter(log, Math.max(end, kept));
    const count = to - from;
    from = to;
    return count;
  });
}

/** O(n): an event may be taken out of the middle. */
export function removeEvent(log: EventLog, id: string, now: number): boolean {
  const event = log.ids.get(id);
  if (event === undefined || event.at <= now - log.longestMs) return false;
  log.ids.delete(id);
  log.events.splice(log.events.indexOf(event, log.first), 1);
  return true;
}

function refresh(log: EventLog, windowMs: number, now: number): void {
  for (let i = log.events.length - 1; i >= log.first && log.events[i]!.at > now; i--) {
    log.events[i]!.at = now;
  }
  const first = firstAfter(log, now - log.longestMs);
  for (; log.first < first; log.first++) {
    const { id } = log.events[log.first]!;
    if (id !== undefined) log.ids.delete(id);
  }
  const empty = log.first === log.events.length;
  log.longestMs = empty ? windowMs : Math.max(log.longestMs, windowMs);
  // Half of the array is gone: moving the rest costs no more than what was pushed since.
  if (log.first > 32 && log.first * 2 > log.events.length) {
    log.events = log.events.slice(log.first);
    log.first = 0;
  }
}

/** Index of the first event after `instant`. */
function firstAfter(log: EventLog, instant: number): number {
  let low = log.first;
  let high = log.events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (log.events[middle]!.at > instant) high = middle;
    else low = middle + 1;
  }
  return low;
}
