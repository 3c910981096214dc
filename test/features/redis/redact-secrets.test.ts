import { expect, test } from 'vitest'
import { redactSecrets } from '../../../src/features/redis/redis-settings.ts'
import { redisSettings } from './redis-settings.ts'

test.each([
  ["ERR unknown command 'AUTH', with args beginning with: 'user' 'p@ss' ", "ERR unknown command 'AUTH'"],
  ['ERR what is "p@ss"?', 'ERR what is "***"?'],
  ['ERR what is "p%40ss"?', 'ERR what is "***"?'],
  ['connect ECONNREFUSED 127.0.0.1:6379', 'connect ECONNREFUSED 127.0.0.1:6379'],
])('of %j, %j is reported', (reason, expected) => {
  expect(redactSecrets(reason, redisSettings({ url: 'redis://user:p%40ss@redis.internal:6379' }))).toBe(expected)
})

test('without a password nothing is masked', () => {
  expect(redactSecrets('ERR no', redisSettings({ url: 'redis://redis.internal' }))).toBe('ERR no')
})

test.each([
  [{ sentinels: ['a:26379'], name: 'm', password: 'p@ss' }],
  [{ sentinels: ['a:26379'], name: 'm', sentinelPassword: 'p@ss' }],
  [{ cluster: ['redis://a:6379'], username: 'user', password: 'p@ss' }],
])('a password beside the place is masked: %j', (settings) => {
  expect(redactSecrets('ERR what is "p@ss"?', redisSettings(settings))).toBe('ERR what is "***"?')
})
