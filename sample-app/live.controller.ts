import { Controller, Get, Header, type MessageEvent, Post, Sse } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import type { Observable } from 'rxjs';
import { LimitType, RateLimit, SkipRateLimit } from '../lib/index.js';
import { LiveFeed } from './live-feed.js';

const file = (name: string) => readFileSync(new URL(`./public/${name}`, import.meta.url), 'utf8');
const PAGE = file('index.html');
const SCRIPT = file('live.js');
const STYLE = file('live.css');

const WINDOW = '10s';

/** The live page, and a route to send requests to for each algorithm. */
@Controller()
export class LiveController {
  constructor(private readonly feed: LiveFeed) {}

  @Get()
  @SkipRateLimit()
  @Header('Content-Type', 'text/html; charset=utf-8')
  page() {
    return PAGE;
  }

  @Get('live.js')
  @SkipRateLimit()
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  script() {
    return SCRIPT;
  }

  @Get('live.css')
  @SkipRateLimit()
  @Header('Content-Type', 'text/css; charset=utf-8')
  style() {
    return STYLE;
  }

  @Sse('live/events')
  @SkipRateLimit()
  events(): Observable<MessageEvent> {
    return this.feed.events();
  }

  @Post('live/sliding-log')
  @RateLimit(LimitType.IP, { limit: 10, window: WINDOW }, { name: 'sliding-log' })
  slidingLog() {
    return { welcome: true };
  }

  @Post('live/fixed-window')
  @RateLimit(
    LimitType.IP,
    { algorithm: 'fixed-window', limit: 10, window: WINDOW },
    { name: 'fixed-window' },
  )
  fixedWindow() {
    return { welcome: true };
  }

  @Post('live/sliding-counter')
  @RateLimit(
    LimitType.IP,
    { algorithm: 'sliding-counter', limit: 10, window: WINDOW, slices: 10 },
    { name: 'sliding-counter' },
  )
  slidingCounter() {
    return { welcome: true };
  }

  @Post('live/token-bucket')
  @RateLimit(
    LimitType.IP,
    { algorithm: 'token-bucket', limit: 10, refill: 10, window: WINDOW },
    { name: 'token-bucket' },
  )
  tokenBucket() {
    return { welcome: true };
  }
}
