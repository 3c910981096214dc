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
const ownTls = { ...systemTls, ca: 'ca' }
const bare = {
  ...{ tls: null, username: null, password: null, database: 0 },
  ...{ connectTimeoutMs: 500, replicas: 0, replicaTimeoutMs: 10 },
}

test.each<[url: string, more: Partial<RedisSettings>, server: object]>([
  ['redis://redis', {}, { host: 'redis', port: 6379 }],
  ['redis://redis:7000/3', {}, { host: 'redis', port: 7000, database: 3 }],
  ['redis://[::1]:7000', {}, { host: '::1', port: 7000 }],
  ['redis://:p%40ss@redis', {}, { host: 'redis', port: 6379, password: 'p@ss' }],
  ['redis://u%2F:p@redis', {}, { host: 'redis', port: 6379, username: 'u/', password: 'p' }],
  ['redis://redis', { username: 'u', password: 'p' }, { host: 'redis', port: 6379, username: 'u', password: 'p' }],
  ['rediss://redis', {}, { host: 'redis', port: 6379, tls: systemTls }],
  ['rediss://redis', { tls: ownTls }, { host: 'redis', port: 6379, tls: ownTls }],
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
  [{ cluster: [...'abcde'].map((host) => `redis://${host}:1`), password: 's' }, 'cluster a:1, b:1, c:1 and 2 more'],
])('%j is called %j', (settings, name) => {
  expect(describeRedis(redisSettings(settings))).toBe(name)
})

const url = 'redis://redis.internal:6379'
const sentinel = { sentinels: ['a:1', 'b:1'], name: 'm' }
const cluster = { cluster: ['redis://a:1', 'redis://b:1'] }

test.each<readonly [isSame: boolean, what: string, one: Partial<RedisSettings>, other: Partial<RedisSettings>]>([
  [true, 'another password and timeout', { url }, { url: 'redis://u:p@redis.internal', timeout: 1 }],
  [true, 'one more Sentinel', sentinel, { ...sentinel, sentinels: ['b:1', 'c:1', 'a:1'] }],
  [true, 'other Sentinels, but for one', sentinel, { ...sentinel, sentinels: ['b:1', 'c:1'] }],
  [true, 'other nodes of a cluster, but for one', cluster, { cluster: ['redis://c:1', 'redis://b:1'] }],
  [false, 'another prefix', { url }, { url, prefix: 'other' }],
  [false, 'another prefix of a cluster', cluster, { ...cluster, prefix: 'other' }],
  [false, 'another database', { url }, { url: `${url}/1` }],
  [false, 'another host', { url }, { url: 'redis://other' }],
  [false, 'another name of the master', sentinel, { ...sentinel, name: 'n' }],
  [false, 'another set of Sentinels', sentinel, { ...sentinel, sentinels: ['c:1'] }],
  [false, 'another cluster', cluster, { cluster: ['redis://c:1'] }],
])('whether the keys are the same (%s), with %s', (isSame, _, one, other) => {
  expect(isSameKeyspace(redisSettings(one), redisSettings(other))).toBe(isSame)
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

const named = { url: 'redis://user:p%40ss@redis.internal:6379' }

test.each<readonly [reason: string, settings: Partial<RedisSettings>, told: string]>([
  ["ERR unknown command 'AUTH', with args beginning with: 'user' 'p@ss' ", named, "ERR unknown command 'AUTH'"],
  ['ERR what is "p@ss"?', named, 'ERR what is "***"?'],
  ['ERR what is "p%40ss"?', named, 'ERR what is "***"?'],
  ['connect ECONNREFUSED 127.0.0.1:6379', named, 'connect ECONNREFUSED 127.0.0.1:6379'],
  ['ERR no', { url: 'redis://redis.internal' }, 'ERR no'],
  ['ERR what is "p@ss"?', { ...sentinel, password: 'p@ss' }, 'ERR what is "***"?'],
  ['ERR what is "p@ss"?', { ...sentinel, sentinelPassword: 'p@ss' }, 'ERR what is "***"?'],
  ['ERR what is "p@ss"?', { ...cluster, username: 'user', password: 'p@ss' }, 'ERR what is "***"?'],
])('of %j, where Redis is %j, %j is reported', (reason, settings, told) => {
  expect(redactSecrets(reason, redisSettings(settings))).toBe(told)
})
