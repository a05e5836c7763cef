import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule);
// Without it the connection to Redis is cut, not closed, when the process is told to stop.
app.enableShutdownHooks();
// A number, because listen() takes any other text for the path of a socket.
await app.listen(Number(process.env.PORT || 3000));
Logger.log(`Open ${await app.getUrl()} for the list of routes`, 'SampleApp');
