/** Writes that replicas must have before they count. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { ManagedRedis } from '../../../src/features/redis/managed-redis.ts'
import { connectRedis } from '../../../src/features/redis/redis-connection.ts'
import { RedisRegistry } from '../../../src/features/redis/redis-registry.ts'
import { consumeScript } from '../../../src/features/redis/redis-server.ts'
import { type RedisSettings, withReplicas } from '../../../src/features/redis/redis-settings.ts'
import { type RedisReply, type ScriptedRedis, scriptedRedis } from '../../helpers/scripted-redis.ts'
import { redisSettings } from './redis-settings.ts'

const ofKey = { keys: ['key'], args: [] }

const urlOf = ({ port }: ScriptedRedis): string => `redis://127.0.0.1:${port}`

/** Starts a server with so many replicas; `reply` says what it replies to other commands. */
const withReplies = (replicas: RedisReply, reply = (_: readonly string[]): RedisReply | undefined => undefined) =>
  scriptedRedis((command) => (command[0] === 'WAIT' ? replicas : reply(command)))

const connect = async (settings: Partial<RedisSettings>) => {
  const connection = await connectRedis(redisSettings({ timeout: 1000, ...settings }), 30_000)(() => {})
  onTestFinished(() => connection.destroy())
  const write = () => connection.run(consumeScript, ofKey, { isReplicated: true })
  return { ...connection, write }
}

const namesOf = ({ commands }: ScriptedRedis): readonly (string | undefined)[] =>
  commands.map(([name]) => name).filter((name) => name !== 'SCRIPT' && name !== 'CLUSTER')

test('a write is followed by WAIT on its connection, half the timeout long', async () => {
  const redis = await withReplies(2)
  const { write } = await connect({ url: urlOf(redis), replicas: 2 })

  expect(String(await write())).toBe('1')

  expect(namesOf(redis)).toEqual(['EVALSHA', 'WAIT'])
  expect(redis.commands.at(-1)).toEqual(['WAIT', '2', '500'])
})

test.each<[what: string, reply: RedisReply]>([
  ['too few', 1],
  ['none', 0],
  ['an error, as a master does that becomes a replica', new Error('UNBLOCKED force unblock')],
  ['what is no number', ['2']],
  ['a text', '2'],
])('a write is rejected when WAIT replies %s', async (_, reply) => {
  const redis = await withReplies(reply)
  const { write, probe } = await connect({ url: urlOf(redis), replicas: 2 })

  await expect(write()).rejects.toThrow(/of 2 replicas have the write|UNBLOCKED/)
  await expect(probe()).rejects.toThrow(/of 2 replicas have the write|UNBLOCKED/)
})

test('without replicas, and for what need not be there, nothing waits', async () => {
  const redis = await withReplies(0)
  const { write, run, consume, probe } = await connect({ url: urlOf(redis) })
  await write()
  await probe()
  const other = await connect({ url: urlOf(redis), replicas: 1 })
  await other.run(consumeScript, ofKey)
  await other.consume('key', 1, 5)
  await run(consumeScript, ofKey)
  await consume('key', 1, 5)

  expect(new Set(namesOf(redis))).toEqual(new Set(['EVALSHA']))
})

test('one WAIT is on its way at a time, and the next is for all that was written meanwhile', async () => {
  const redis = await withReplies(1)
  const { write } = await connect({ url: urlOf(redis), replicas: 1 })

  await Promise.all(Array.from({ length: 50 }, write))
  expect(namesOf(redis).filter((name) => name === 'WAIT')).toHaveLength(1)

  const first = write()
  await new Promise(setImmediate)
  await Promise.all([first, ...Array.from({ length: 50 }, write)])
  expect(namesOf(redis).filter((name) => name === 'WAIT')).toHaveLength(3)
  expect(namesOf(redis).at(-1)).toBe('WAIT')
})

test('what is written after one that too few replicas have is judged by itself', async () => {
  const replies = [0, 1]
  const redis = await scriptedRedis(([name]) => (name === 'WAIT' ? replies.shift() : undefined))
  const { write } = await connect({ url: urlOf(redis), replicas: 1 })

  await expect(write()).rejects.toThrow('0 of 1 replicas')
  expect(String(await write())).toBe('1')
})

test('a script that the server does not know is waited for once it has run', async () => {
  const redis = await withReplies(1, ([name]) => (name === 'EVALSHA' ? new Error('NOSCRIPT No script') : undefined))
  const { write } = await connect({ url: urlOf(redis), replicas: 1 })

  await write()

  expect(namesOf(redis)).toEqual(['EVALSHA', 'WAIT', 'EVAL', 'WAIT'])
})

test('in a cluster the node that ran the script waits, also after a redirection', async () => {
  const nodes: ScriptedRedis[] = []
  const slots = (): RedisReply => nodes.map(({ port }, i) => [i * 8192, i * 8192 + 8191, ['127.0.0.1', port, 'id', []]])
  // `key` is of slot 12539.
  const ask = (n: number) => (n === 1 ? new Error(`ASK 12539 127.0.0.1:${nodes[0]?.port}`) : undefined)
  for (const n of [0, 1])
    nodes.push(
      await withReplies(1, ([name, , , key]) => {
        if (name === 'CLUSTER') return slots()
        return name === 'EVALSHA' && key === 'key' ? ask(n) : undefined
      }),
    )
  const { write, probe } = await connect({ cluster: nodes.slice(0, 1).map(urlOf), replicas: 1 })

  expect(String(await write())).toBe('1')
  expect(nodes.map((node) => namesOf(node).join(' '))).toEqual(['ASKING EVALSHA WAIT', 'EVALSHA WAIT'])
  await probe()
  expect(nodes.map((node) => namesOf(node).slice(-2).join(' '))).toEqual(['EVALSHA WAIT', 'EVALSHA WAIT'])
})

test('requests do not use a Redis that has too few replicas, and the reason says so', async () => {
  let replicas = 0
  const redis = await scriptedRedis(([name]) => (name === 'WAIT' ? replicas : undefined))
  const settings = redisSettings({ url: urlOf(redis), replicas: 1, timeout: 1000 })
  const link = new ManagedRedis({ connect: connectRedis(settings), timeoutMs: 30_000, onChange: () => {} })
  onTestFinished(() => link.close())

  await vi.waitFor(() => expect(link.reason).toBe('0 of 1 replicas have the write'), 30_000)
  expect(link.isShared).toBe(false)
  replicas = 1
  await vi.waitFor(() => expect(link.isShared).toBe(true), 30_000)
  replicas = 0

  for (let n = 0; n < 5; n++) expect(await link.run(consumeScript, ofKey, { isReplicated: true })).toBe(null)
  await vi.waitFor(() => expect(link.isShared).toBe(false), 30_000)
})

test('one of two connections waits for replicas, and operators are told of both together', async () => {
  let replicas = 0
  const redis = await scriptedRedis(([name]) => (name === 'WAIT' ? replicas : undefined))
  const changes: (readonly [boolean, string | null])[] = []
  const registry = new RedisRegistry((...change) => void changes.push(change))
  const settings = redisSettings({ url: urlOf(redis), replicas: 1, timeout: 30_000 })
  const { link, replicated, release } = registry.acquire(settings, 'records')
  onTestFinished(release)

  await vi.waitFor(() => expect(changes).toEqual([[false, '0 of 1 replicas have the write']]), 30_000)
  await vi.waitFor(() => expect([link.isShared, replicated?.isShared]).toEqual([true, false]), 30_000)
  expect(String(await link.run(consumeScript, ofKey))).toBe('1')
  replicas = 1

  await vi.waitFor(() => expect(changes.at(-1)).toEqual([true, null]), 30_000)
  expect(changes).toHaveLength(2)
})

test('without replicas there is one connection', async () => {
  const settings = redisSettings({ url: urlOf(await withReplies(0)) })
  const { replicated, release } = new RedisRegistry(() => {}).acquire(settings, 'records')
  onTestFinished(release)

  expect(replicated).toBe(null)
})

test.each<[place: Partial<RedisSettings>, stated: number | null, replicas: number]>([
  [{ url: 'redis://a' }, null, 0],
  [{ url: 'redis://a' }, 1, 1],
  [{ sentinels: ['a:26379'], name: 'm' }, null, 1],
  [{ sentinels: ['a:26379'], name: 'm' }, 0, 0],
  [{ cluster: ['redis://a'] }, null, 1],
  [{ cluster: ['redis://a'] }, 3, 3],
])('%j with replicas %j waits for %i', (place, stated, replicas) => {
  expect(withReplicas(redisSettings(place), stated).replicas).toBe(replicas)
})
