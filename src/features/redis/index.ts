import type { Feature } from '../../core/feature.ts'

/** Redis or Valkey, which several gateways share. */
export const redis: Feature = {
  name: 'redis',
  loadRuntimePart: () => import('./runtime.ts'),
  loadCommands: async () => ({
    onlineChecks: [async (config, locate) => (await import('./check-redis.ts')).checkRedis(config, locate)],
  }),
}
