import {
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  HttpStatus,
  Param,
  Post,
  Query,
} from '@nestjs/common';
import { type SlicedCounter, SlidingWindowService } from '../lib/index.js';
import { IntegerPipe } from './parameters.js';

/** One ring of slices answers for the present ten seconds and for the last minute. */
@Controller('slices/:key')
export class SlicesController {
  constructor(private readonly windows: SlidingWindowService) {}

  @Post('increment')
  @HttpCode(HttpStatus.OK)
  increment(
    @Param('key') key: string,
    @Query('by', new IntegerPipe(1_000_000, 1)) by: number,
  ): Promise<{ slice: number; window: number }> {
    return this.counter(key).increment(by);
  }

  @Get('windowSum')
  @Header('Content-Type', 'application/json')
  windowSum(@Param('key') key: string): Promise<number> {
    return this.counter(key).windowSum();
  }

  @Get('sliceValue')
  @Header('Content-Type', 'application/json')
  sliceValue(@Param('key') key: string): Promise<number> {
    return this.counter(key).sliceValue();
  }

  @Get('timeline')
  timeline(@Param('key') key: string): Promise<number[]> {
    return this.counter(key).timeline();
  }

  @Delete()
  @HttpCode(HttpStatus.NO_CONTENT)
  clear(@Param('key') key: string): Promise<void> {
    return this.counter(key).clear();
  }

  private counter(key: string): SlicedCounter {
    return this.windows.sliced(key, { slice: '10s', window: '1m' });
  }
}
