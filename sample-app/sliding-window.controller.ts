import { Controller, Get, Header, Query } from '@nestjs/common';
import { SlidingWindowService } from '../lib/index.js';
import { IntegerPipe, TextPipe } from './parameters.js';

const Key = () => Query('bizCodeKey', TextPipe);
const WindowSeconds = () => Query('windowSeconds', new IntegerPipe(365 * 24 * 60 * 60));
const Threshold = () => Query('threshold', new IntegerPipe(1_000_000));

/** Nest sends a bare number or boolean as text/html unless told otherwise. */
const Json = () => Header('Content-Type', 'application/json');

/** "n failures within 5 minutes": each request is an event, and the answer tells of its window. */
@Controller('api/sl')
export class SlidingWindowController {
  constructor(private readonly windows: SlidingWindowService) {}

  @Get('calculateCount')
  @Json()
  calculateCount(@Key() key: string, @WindowSeconds() seconds: number): Promise<number> {
    return this.windows.calculateCount(key, `${seconds}s`);
  }

  @Get('keepCalculate')
  @Json()
  keepCalculate(
    @Key() key: string,
    @WindowSeconds() seconds: number,
    @Threshold() threshold: number,
  ): Promise<boolean> {
    return this.windows.keepCalculate(key, `${seconds}s`, threshold);
  }

  @Get('clearOnCondition')
  @Json()
  clearOnCondition(
    @Key() key: string,
    @WindowSeconds() seconds: number,
    @Threshold() threshold: number,
  ): Promise<boolean> {
    return this.windows.clearOnCondition(key, `${seconds}s`, threshold);
  }
}
