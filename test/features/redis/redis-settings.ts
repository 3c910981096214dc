import type { RedisSettings } from '../../../src/features/redis/redis-settings.ts'

/** Fills in what a test does not say of its Redis. */
export const redisSettings = (stated: Partial<RedisSettings>): RedisSettings => ({
  ...{ url: null, sentinels: null, name: null, cluster: null, username: null, password: null },
  ...{ sentinelUsername: null, sentinelPassword: null, tls: null, timeout: 20, prefix: 'test' },
  ...stated,
})
