import type { Feature } from '../../core/feature.ts'

/** Connects to Redis or Valkey, where several gateways count, store and remember together. */
export const redis: Feature = {
  name: 'redis',
  loadRuntimePart: () => import('./runtime.ts'),
  loadCommands: async () => ({
    onlineChecks: [async (config, locate) => (await import('./check-redis.ts')).checkRedis(config, locate)],
  }),
}
