import type { Feature } from '../../core/feature.ts'

export const redis: Feature = {
  name: 'redis',
  face: [
    'batched-calls.ts',
    'config.ts',
    'managed-redis.ts',
    'redis-cluster.ts',
    'redis-registry.ts',
    'redis-server.ts',
    'redis-settings.ts',
    'rules.ts',
  ],
  loadRuntimePart: () => import('./runtime.ts'),
  loadCommands: async () => ({
    onlineChecks: [async (config, locate) => (await import('./check-redis.ts')).checkRedis(config, locate)],
  }),
}
