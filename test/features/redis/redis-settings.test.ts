import { expect, test } from 'vitest'
import {
  describeKeyspace,
  describeRedis,
  isSameKeyspace,
  type RedisSettings,
  redactSecrets,
  redisTopology,
} from '../../../src/features/redis/redis-settings.ts'
import { redisSettings } from './redis-settings.ts'

const systemTls = { ca: null, certificate: null, key: null }
const bare = {
  tls: null,
  username: null,
  password: null,
  database: 0,
  connectTimeoutMs: 500,
  replicas: 0,
  replicaTimeoutMs: 10,
}

test.each<[url: string, more: Partial<RedisSettings>, server: object]>([
  ['redis://redis', {}, { host: 'redis', port: 6379 }],
  ['redis://redis:7000/3', {}, { host: 'redis', port: 7000, database: 3 }],
  ['redis://[::1]:7000', {}, { host: '::1', port: 7000 }],
  ['redis://:p%40ss@redis', {}, { host: 'redis', port: 6379, password: 'p@ss' }],
  ['redis://u%2F:p@redis', {}, { host: 'redis', port: 6379, username: 'u/', password: 'p' }],
  ['redis://redis', { username: 'u', password: 'p' }, { host: 'redis', port: 6379, username: 'u', password: 'p' }],
  ['rediss://redis', {}, { host: 'redis', port: 6379, tls: systemTls }],
  [
    'rediss://redis',
    { tls: { ...systemTls, ca: 'ca' } },
    { host: 'redis', port: 6379, tls: { ...systemTls, ca: 'ca' } },
  ],
])('%s with %j is one server', (url, more, server) => {
  expect(redisTopology(redisSettings({ url, ...more }))).toEqual({ kind: 'server', server: { ...bare, ...server } })
})

test('Sentinels have a user of their own, and the TLS of the servers', () => {
  const topology = redisTopology(
    redisSettings({
      ...{ sentinels: ['a:26379', '[::1]:26380'], name: 'm', username: 'u', password: 'p' },
      ...{ sentinelUsername: 'su', sentinelPassword: 'sp', tls: systemTls },
    }),
  )

  expect(topology).toMatchObject({
    kind: 'sentinel',
    name: 'm',
    sentinels: [
      { ...bare, host: 'a', port: 26_379, username: 'su', password: 'sp', tls: systemTls },
      { host: '::1', port: 26_380 },
    ],
  })
  expect(topology.kind === 'sentinel' && topology.toServer({ host: 'b', port: 1 })).toEqual({
    ...{ ...bare, host: 'b', port: 1, username: 'u', password: 'p', tls: systemTls },
  })
})

test('all nodes of a cluster are reached as the first is', () => {
  const topology = redisTopology(
    redisSettings({ cluster: ['rediss://a:1', 'rediss://b:2'], username: 'u', password: 'p' }),
  )

  expect(topology).toMatchObject({
    kind: 'cluster',
    seeds: [
      { host: 'a', port: 1 },
      { host: 'b', port: 2 },
    ],
  })
  expect(topology.kind === 'cluster' && topology.toServer({ host: 'c', port: 3 })).toEqual({
    ...{ ...bare, host: 'c', port: 3, username: 'u', password: 'p', tls: systemTls },
  })
})

test.each<[Partial<RedisSettings>, string]>([
  [{ url: 'rediss://user:secret@redis.internal/2' }, 'redis.internal:6379'],
  [{ url: 'redis://[::1]:7000' }, '[::1]:7000'],
  [{ sentinels: ['a:26379', 'b:26379'], name: 'm', password: 'secret' }, 'm of Sentinel a:26379, b:26379'],
  [
    { cluster: ['a', 'b', 'c', 'd', 'e'].map((host) => `redis://${host}:1`), password: 'secret' },
    'cluster a:1, b:1, c:1 and 2 more',
  ],
])('%j is called %j', (settings, name) => {
  expect(describeRedis(redisSettings(settings))).toBe(name)
})

const url = 'redis://redis.internal:6379'
const sentinel = { sentinels: ['a:1', 'b:1'], name: 'm' }
const cluster = { cluster: ['redis://a:1', 'redis://b:1'] }

test.each<[string, Partial<RedisSettings>, Partial<RedisSettings>]>([
  ['another password and timeout', { url }, { url: 'redis://u:p@redis.internal', timeout: 1 }],
  ['one more Sentinel', sentinel, { ...sentinel, sentinels: ['b:1', 'c:1', 'a:1'] }],
  ['other Sentinels, but for one', sentinel, { ...sentinel, sentinels: ['b:1', 'c:1'] }],
  ['other nodes of a cluster, but for one', cluster, { cluster: ['redis://c:1', 'redis://b:1'] }],
])('with %s the keys are the same', (_, one, other) => {
  expect(isSameKeyspace(redisSettings(one), redisSettings(other))).toBe(true)
})

test.each<[string, Partial<RedisSettings>, Partial<RedisSettings>]>([
  ['prefix', { url }, { url, prefix: 'other' }],
  ['prefix of a cluster', cluster, { ...cluster, prefix: 'other' }],
  ['database', { url }, { url: `${url}/1` }],
  ['host', { url }, { url: 'redis://other' }],
  ['name of the master', sentinel, { ...sentinel, name: 'n' }],
  ['set of Sentinels', sentinel, { ...sentinel, sentinels: ['c:1'] }],
  ['cluster', cluster, { cluster: ['redis://c:1'] }],
])('with another %s the keys are others', (_, one, other) => {
  expect(isSameKeyspace(redisSettings(one), redisSettings(other))).toBe(false)
})

test('the keys of a Redis are called by database and prefix too', () => {
  const described = [{ url: 'redis://u:secret@redis.internal/2' }, sentinel, cluster].map((each) =>
    describeKeyspace(redisSettings({ ...each, prefix: 'p' })),
  )

  expect(described).toEqual([
    'redis.internal:6379, database 2, prefix p',
    'm of Sentinel a:1, b:1, database 0, prefix p',
    'cluster a:1, b:1, database 0, prefix p',
  ])
})

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
