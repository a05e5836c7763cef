import { describe } from '@jest/globals';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { GraphQLModule } from '@nestjs/graphql';
import { describeGraphql } from '../support/graphql-suite.js';

describe('resolvers with Apollo', () => {
  describeGraphql({
    module: () =>
      GraphQLModule.forRoot<ApolloDriverConfig>({
        driver: ApolloDriver,
        autoSchemaFile: true,
        graphiql: false,
        fieldResolverEnhancers: ['guards'],
        subscriptions: { 'graphql-ws': true },
      }),
    create: (module) => module.createNestApplication({ logger: false }),
  });
});
