import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UnauthorizedException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import {
  Args,
  Field,
  Int,
  Mutation,
  ObjectType,
  Query,
  ResolveField,
  Resolver,
  Subscription,
} from '@nestjs/graphql';
import {
  type Decision,
  LimitType,
  RateLimit,
  RateLimitInfo,
  SkipRateLimit,
} from '../../lib/index.js';
import { NotingFilter } from './contexts.js';

interface Headers {
  headers: Record<string, string | undefined>;
  user?: object;
}

/** Authenticates by a header of the request, or of the upgrade to WebSocket. */
@Injectable()
export class HeaderAuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const graphql = context.getArgByIndex<{ req?: Headers; request?: Headers }>(2);
    const request = (graphql.req ?? graphql.request)!;
    const user = request.headers['x-user'];
    if (user === undefined) throw new UnauthorizedException();
    request.user = { id: user };
    return true;
  }
}

@Resolver()
export class LimitedResolver {
  @Query(() => String)
  @RateLimit(LimitType.IP, '2/m')
  ip() {
    return 'ok';
  }

  @Query(() => String)
  @UseFilters(new NotingFilter())
  @UseGuards(HeaderAuthGuard)
  @RateLimit(LimitType.IP, '5/m', { name: 'user-ip' })
  @RateLimit(LimitType.USER_ID, '1/m', { name: 'user-id', message: 'not so fast' })
  user(@RateLimitInfo() decision: Decision) {
    return decision.policies.map(({ name, subject }) => `${name}=${subject}`).join();
  }

  @Query(() => String, { nullable: true })
  @RateLimit(LimitType.IP, '10/m', { name: 'shared' })
  a(@RateLimitInfo() { policies }: Decision) {
    return `${policies[0]!.subject} ${policies[0]!.rules[0]!.remaining}`;
  }

  @Query(() => String, { nullable: true })
  @RateLimit(LimitType.IP, '10/m', { name: 'shared' })
  @RateLimit(LimitType.GLOBAL, '20/m', { name: 'b' })
  b() {
    return 'ok';
  }

  @Mutation(() => Boolean, { nullable: true })
  @RateLimit(LimitType.IP, '3/m', { countWhen: 'failure' })
  login(@Args('password') password: string) {
    if (password !== 'right') throw new UnauthorizedException();
    return true;
  }

  @Query(() => String)
  @RateLimit(LimitType.GLOBAL, '3/m', { onStoreError: 'deny', cost: () => -1 })
  closed() {
    return 'ok';
  }

  @Query(() => String)
  @SkipRateLimit()
  skipped() {
    return 'ok';
  }

  @Query(() => String)
  @SkipRateLimit()
  broken(): string {
    throw new TypeError('broken');
  }

  @Query(() => String)
  byDefault() {
    return 'ok';
  }

  @Subscription(() => Int, { resolve: (value: number) => value })
  @RateLimit(LimitType.IP, '2/m', { name: 'ticks' })
  ticks() {
    return ticks();
  }

  @Subscription(() => String, { resolve: (value: string) => value })
  @RateLimit(LimitType.IP, '9/m', { name: 'who' })
  who(@RateLimitInfo() decision: Decision) {
    return one(decision.policies[0]!.subject);
  }
}

async function* ticks() {
  for (let i = 1; i <= 5; i++) yield await Promise.resolve(i);
}

async function* one(value: string) {
  yield await Promise.resolve(value);
}

@ObjectType()
export class Item {
  @Field(() => Int)
  id!: number;
}

/** Limited as a class; the field of the items is no request. */
@Resolver(() => Item)
@RateLimit(LimitType.IP, '2/m', { name: 'items' })
export class ItemResolver {
  @Query(() => [Item])
  items() {
    return [{ id: 1 }, { id: 2 }, { id: 3 }];
  }

  @ResolveField(() => String)
  title() {
    return 'title';
  }

  @ResolveField(() => String, { nullable: true })
  @RateLimit(LimitType.IP, '4/m', { name: 'price' })
  price() {
    return '1 €';
  }
}
