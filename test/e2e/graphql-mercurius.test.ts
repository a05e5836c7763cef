import { describe } from '@jest/globals';
import { GraphQLModule } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { describeGraphql } from '../support/graphql-suite.js';

/** With 1, an operation that is asked again is compiled: another code calls the resolvers then. */
describe.each([0, 1])('resolvers with Mercurius, jit %d', (jit) => {
  describeGraphql({
    module: () =>
      GraphQLModule.forRoot<MercuriusDriverConfig>({
        driver: MercuriusDriver,
        autoSchemaFile: true,
        fieldResolverEnhancers: ['guards'],
        subscription: true,
        jit,
      }),
    create: (module) => module.createNestApplication(new FastifyAdapter(), { logger: false }),
  });
});
