import { onTestFinished, vi } from 'vitest'
import { ManagedRedis } from '../../../src/features/redis/managed-redis.ts'
import { connectRedis } from '../../../src/features/redis/redis-connection.ts'
import { redisSettings } from './redis-settings.ts'

/** Connects to a Redis as a gateway does, until the test has finished, and waits until it may be used. */
export const openLink = async (url: string, timeoutMs = 30_000): Promise<ManagedRedis> => {
  const link = new ManagedRedis({ connect: connectRedis(redisSettings({ url })), timeoutMs, onChange: () => {} })
  onTestFinished(() => link.close())
  await vi.waitFor(() => {
    if (!link.isShared) throw new Error(`not connected: ${link.reason}`)
  }, 30_000)
  return link
}
