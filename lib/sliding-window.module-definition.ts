import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { SlidingWindowOptions } from './sliding-window.options.js';

export const {
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN: SLIDING_WINDOW_OPTIONS,
  ASYNC_OPTIONS_TYPE,
} = new ConfigurableModuleBuilder<SlidingWindowOptions>({ moduleName: 'SlidingWindow' })
  .setClassMethodName('forRoot')
  .setExtras({ isGlobal: true }, (definition, { isGlobal }) => ({
    ...definition,
    global: isGlobal,
  }))
  .build();
