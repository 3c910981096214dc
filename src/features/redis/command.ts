import type { OnlineCheck } from '../../core/cli/built-in-command.ts'

export const onlineChecks: readonly OnlineCheck[] = [
  async (config, locate) => (await import('./check-redis.ts')).checkRedis(config, locate),
]
