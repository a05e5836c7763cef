import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SlidingWindowModule } from '../lib/index.js';
import { AppModule } from './app.module.js';

// A live page that is open would keep the server from closing.
const app = await NestFactory.create(AppModule, { forceCloseConnections: true });
// Without it the connection to Redis is cut, not closed, when the process is told to stop.
app.enableShutdownHooks();
// A number, because listen() takes any other text for the path of a socket.
await app.listen(Number(process.env.PORT || 3000));
if (process.env.INVENTORY) console.table(SlidingWindowModule.inventory(app));
Logger.log(`Open ${await app.getUrl()} for the live page`, 'SampleApp');
