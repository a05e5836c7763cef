// eslint-disable-next-line @typescript-eslint/ban-ts-comment -- the declaration file needs it, and needs no error
/*!
 * ioredis is optional. Where it is absent its types are `any`, and the declarations still compile.
 * @ts-ignore */
export type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from 'ioredis';
