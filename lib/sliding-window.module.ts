import {
  type DynamicModule,
  type INestApplicationContext,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ApplicationConfig, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { AlertExplorer } from './alerts/alert-explorer.js';
import { Alerts } from './alerts/alerts.js';
import { wallClock } from './clock.js';
import { SlidingWindowService } from './counting/sliding-window.service.js';
import { GlobalRateLimitGuard } from './guard/global-rate-limit.guard.js';
import { type InventoryRow, inventoryOf } from './guard/inventory.js';
import { documentResponses } from './guard/openapi.js';
import { OutcomeInterceptor } from './guard/outcomes.js';
import { PolicyEnforcer } from './guard/policy-enforcer.js';
import { PolicyExplorer } from './guard/policy-explorer.js';
import { ProxyWarnings } from './guard/proxy-warnings.js';
import { RateLimitGuard } from './guard/rate-limit.guard.js';
import { SlidingWindowHealthIndicator } from './health/health-indicator.js';
import { namedPolicies } from './guard/named-policies.js';
import { routesOf } from './guard/routes.js';
import { userWarnings } from './guard/user-warnings.js';
import { LimiterMetrics } from './metrics/limiter-metrics.js';
import { Policies } from './limiting/policies.js';
import { RateLimiterService } from './limiting/rate-limiter.service.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  SLIDING_WINDOW_OPTIONS,
} from './sliding-window.module-definition.js';
import {
  type ResolvedOptions,
  resolveOptions,
  type SlidingWindowOptions,
} from './sliding-window.options.js';
import { configError } from './errors.js';
import { StoreLog } from './store-log.js';
import { ScriptRunner } from './stores/redis/script-runner.js';
import { Stores } from './sliding-window.stores.js';
import { SlidingWindowThrottlerStorage } from './throttler/throttler-storage.js';

const RESOLVED_OPTIONS = Symbol('resolved options');

function limiterOf(
  stores: Stores,
  policies: Policies,
  { ipv6Prefix, metrics }: ResolvedOptions,
): RateLimiterService {
  const events = stores.events.asObservable();
  const limiter = new RateLimiterService(stores.limits, policies, stores.clock, ipv6Prefix, events);
  if (metrics !== undefined) new LimiterMetrics(limiter, metrics);
  return limiter;
}

/** Rate limits and sliding-window counters for the whole application. */
@Module({
  providers: [
    {
      provide: RESOLVED_OPTIONS,
      inject: [SLIDING_WINDOW_OPTIONS],
      useFactory: (options?: SlidingWindowOptions) => resolveOptions(options),
    },
    {
      provide: Policies,
      inject: [RESOLVED_OPTIONS],
      useFactory: (options: ResolvedOptions) => namedPolicies(options),
    },
    {
      provide: Stores,
      // Policies first: a wrong one is told before anything is opened.
      inject: [RESOLVED_OPTIONS, Policies],
      useFactory: (options: ResolvedOptions) => new Stores(options),
    },
    {
      provide: ScriptRunner,
      inject: [Stores],
      useFactory: (stores: Stores) => stores.runner,
    },
    {
      provide: RateLimiterService,
      inject: [Stores, Policies, RESOLVED_OPTIONS],
      useFactory: (stores: Stores, policies: Policies, options: ResolvedOptions) =>
        limiterOf(stores, policies, options),
    },
    {
      provide: SlidingWindowService,
      inject: [Stores],
      useFactory: (stores: Stores) => new SlidingWindowService(stores.counters),
    },
    {
      provide: SlidingWindowThrottlerStorage,
      inject: [RateLimiterService],
      useFactory: (limiter: RateLimiterService) => new SlidingWindowThrottlerStorage(limiter),
    },
    {
      provide: PolicyExplorer,
      inject: [RESOLVED_OPTIONS],
      useFactory: (options: ResolvedOptions) => new PolicyExplorer(options),
    },
    {
      provide: ProxyWarnings,
      inject: [HttpAdapterHost, SLIDING_WINDOW_OPTIONS],
      useFactory: (host: HttpAdapterHost, options?: SlidingWindowOptions) =>
        new ProxyWarnings(host, options?.getIp !== undefined),
    },
    {
      provide: PolicyEnforcer,
      inject: [PolicyExplorer, RateLimiterService, RESOLVED_OPTIONS, ProxyWarnings],
      useFactory: (
        explorer: PolicyExplorer,
        limiter: RateLimiterService,
        options: ResolvedOptions,
        proxies: ProxyWarnings,
      ) =>
        new PolicyEnforcer(explorer, limiter, {
          ...options,
          getIp: proxies.watch(options.getIp),
        }),
    },
    {
      provide: SlidingWindowHealthIndicator,
      inject: [Stores],
      useFactory: (stores: Stores) => new SlidingWindowHealthIndicator(stores),
    },
    {
      provide: Alerts,
      inject: [Stores, RESOLVED_OPTIONS],
      useFactory: ({ counters, limits }: Stores, { clock }: ResolvedOptions) =>
        new Alerts(counters, limits, typeof clock === 'object' ? clock : wallClock),
    },
    RateLimitGuard,
    GlobalRateLimitGuard,
  ],
  exports: [
    ScriptRunner,
    RateLimiterService,
    SlidingWindowService,
    SlidingWindowThrottlerStorage,
    SlidingWindowHealthIndicator,
    PolicyEnforcer,
  ],
})
export class SlidingWindowModule
  extends ConfigurableModuleClass
  implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown
{
  private readonly log: StoreLog;

  /** @hidden Nest makes it. */
  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(SLIDING_WINDOW_OPTIONS) private readonly written: SlidingWindowOptions | undefined,
    private readonly stores: Stores,
    private readonly explorer: PolicyExplorer,
    private readonly alerts: Alerts,
    private readonly modules: ModulesContainer,
    private readonly config: ApplicationConfig,
    guard: RateLimitGuard,
    globalGuard: GlobalRateLimitGuard,
  ) {
    super();
    this.log = new StoreLog(stores);
    explorer.explore(modules, guard, new OutcomeInterceptor(options.contexts));
    documentResponses(routesOf(modules, config), explorer, options);
    // Guards of the application run in the order in which they are added, and those provided as
    // APP_GUARD are added when every provider exists: ours is before them all.
    if (options.globalGuard) config.addGlobalGuard(globalGuard);
  }

  /**
   * @example
   * SlidingWindowModule.forRoot({ redis: 'redis://localhost:6379' })
   */
  static override forRoot(
    options: SlidingWindowOptions & { isGlobal?: boolean } = {},
  ): DynamicModule {
    return super.forRoot(options);
  }

  /** With `useFactory`, or a class or provider with `create(): SlidingWindowOptions`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return super.forRootAsync(options);
  }

  /**
   * Which policies hold for which routes: a row for each policy of each route, and one for each
   * route that has none. To be called once the application is set up (global prefix, versioning).
   * Routes that are no handlers of controllers, gateways or resolvers are not in it, nor are GraphQL
   * field resolvers, host names and versions that are not part of the path.
   *
   * @example
   * console.table(SlidingWindowModule.inventory(app));
   */
  static inventory(app: INestApplicationContext): InventoryRow[] {
    const { modules, config, explorer, options } = app.get(SlidingWindowModule, { strict: false });
    return inventoryOf(routesOf(modules, config), explorer, options.globalGuard);
  }

  /** @hidden */
  async onModuleInit(): Promise<void> {
    await this.exploreAlerts();
    await this.stores.open();
    this.log.opened();
    const problems = this.stores.selfCheck?.problems ?? [];
    if (this.options.strict && problems.length > 0) {
      await this.stores.close();
      throw configError.selfCheckFailed(problems.map(({ message }) => message));
    }
  }

  /** Only now all guards of the application are known. */
  onApplicationBootstrap(): void {
    if (this.written?.getUserId !== undefined) return;
    const guards = [...this.config.getGlobalGuards(), ...this.config.getGlobalRequestGuards()];
    const { globalGuard } = this.options;
    const otherGlobalGuards = guards.length > (globalGuard ? 1 : 0);
    const routes = routesOf(this.modules, this.config);
    const logger = new Logger('RateLimit');
    for (const text of userWarnings(routes, this.explorer, { globalGuard, otherGlobalGuards })) {
      logger.warn(text);
    }
  }

  /** Only now there are instances, which may come from factories. */
  private async exploreAlerts(): Promise<void> {
    try {
      const unheard = new AlertExplorer(this.alerts).explore(this.modules);
      for (const name of unheard) {
        new Logger('Alerts').warn(`"${name}" is counted, and no @OnThreshold listens to it here`);
      }
    } catch (error) {
      await this.stores.close();
      throw error;
    }
  }

  /** @hidden */
  async onApplicationShutdown(): Promise<void> {
    await this.alerts.close();
    await this.stores.close();
  }
}
