import { describe } from '@jest/globals';
import { GraphQLModule } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { describeGraphql } from '../support/graphql-suite.js';

describe('resolvers with Mercurius', () => {
  describeGraphql({
    module: () =>
      GraphQLModule.forRoot<MercuriusDriverConfig>({
        driver: MercuriusDriver,
        autoSchemaFile: true,
        fieldResolverEnhancers: ['guards'],
        subscription: true,
      }),
    create: (module) => module.createNestApplication(new FastifyAdapter(), { logger: false }),
  });
});
