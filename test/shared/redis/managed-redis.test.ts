import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ManagedRedis } from '../../../src/shared/redis/managed-redis.ts'
import { type ConnectRedis, consumeScript, type RedisConnection } from '../../../src/shared/redis/redis-connection.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

type Does = 'answer' | 'late' | 'stall' | 'fail' | 'refuse'

/** Is a Redis that does as it is told: it answers, in time or late, is silent, or refuses connections. */
const scripted = (does: Does = 'answer') => {
  const redis = {
    does,
    connections: 0,
    takes: 0,
    lose: (_reason: Error): void => {},
  }
  const connect: ConnectRedis = async (lost) => {
    if (redis.does === 'refuse') throw new Error('refused')
    redis.connections++
    redis.lose = lost
    const connection: RedisConnection = {
      consume: () => {
        redis.takes++
        if (redis.does === 'fail') return Promise.reject(new Error('READONLY'))
        if (redis.does === 'late') return new Promise((resolve) => setTimeout(resolve, 30, 1))
        return redis.does === 'answer' ? Promise.resolve(1) : new Promise(() => {})
      },
      run: (_, { keys: [key = ''] }) => connection.consume(key, 1, 1),
      destroy: () => {},
    }
    return connection
  }
  const changes: (readonly [boolean, string | null])[] = []
  const link = new ManagedRedis({
    connect,
    timeoutMs: 20,
    probeKey: 'probe',
    onChange: (...change) => changes.push(change),
  })
  return { redis, link, changes }
}

const take = (link: ManagedRedis): Promise<number | null> => link.consume('key', 1, 1)

/** Lets so much time pass, and all that happens meanwhile happen. */
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

test('it is shared once a connection has done what requests will ask of it', async () => {
  const { link, changes } = scripted()
  expect(link.isShared).toBe(false)
  expect(await take(link)).toBeNull()

  await pass(0)

  expect(link.isShared).toBe(true)
  expect(await take(link)).toBe(1)
  expect(changes).toEqual([[true, null]])
  link.close()
})

test('an answer that is late is no answer, and several in a row end the asking', async () => {
  const { redis, link, changes } = scripted()
  await pass(0)
  redis.does = 'stall'

  const outcomes = Promise.all(Array.from({ length: 5 }, () => take(link)))
  await pass(21)

  expect(await outcomes).toEqual(Array(5).fill(null))
  expect(link.isShared).toBe(false)
  const { takes } = redis
  expect(await take(link)).toBeNull() // at once, without a question
  expect(redis.takes).toBe(takes)
  expect(changes).toEqual([
    [true, null],
    [false, 'no answer within 20ms'],
  ])
  link.close()
})

test('one that is late now and then is a hiccup', async () => {
  const { redis, link } = scripted()
  await pass(0)

  for (let n = 0; n < 10; n++) {
    redis.does = 'stall'
    const late = take(link)
    await pass(21)
    expect(await late).toBeNull()
    redis.does = 'answer'
    expect(await take(link)).toBe(1)
  }

  expect(link.isShared).toBe(true)
  link.close()
})

test('one answer that does not come at all has the connection tried, though nobody asks for more', async () => {
  const { redis, link, changes } = scripted()
  await pass(0)
  redis.does = 'stall'
  const late = link.run(consumeScript, { keys: ['key'], args: [] })
  await pass(21)
  expect(await late).toBeNull()
  redis.does = 'answer'
  expect(link.isShared).toBe(true)

  await pass(1001 + 500)

  expect(changes).toEqual([
    [true, null],
    [false, 'no answer within 1000ms'],
    [true, null],
  ])
  link.close()
})

test('one that was too slow is waited for again once it has been in time three times in a row', async () => {
  const { redis, link } = scripted()
  await pass(0)
  redis.does = 'late'
  const late = Promise.all(Array.from({ length: 5 }, () => take(link)))
  await pass(31)
  await late

  const shared: boolean[] = []
  for (const does of ['answer', 'answer', 'late', 'answer', 'answer', 'answer'] as const) {
    redis.does = does
    for (const { takes } = redis; redis.takes === takes; ) await pass(1)
    await pass(31)
    shared.push(link.isShared)
  }

  expect(shared).toEqual([false, false, false, false, false, true])
  link.close()
})

test('a server that refuses to count is as good as none, however well it is connected', async () => {
  const { redis, link, changes } = scripted()
  await pass(0)
  redis.does = 'fail'

  for (let n = 0; n < 5; n++) expect(await take(link)).toBeNull()
  await pass(5000)

  expect(link.isShared).toBe(false)
  expect(changes).toEqual([
    [true, null],
    [false, 'READONLY'],
  ])
  link.close()
})

test.each(['refuse', 'stall', 'fail'] as const)(
  'after an outage (%s) it is shared again within a second',
  async (outage) => {
    const { redis, link, changes } = scripted()
    await pass(0)
    redis.does = outage
    redis.lose(new Error('lost'))
    await pass(60_000)
    expect(link.isShared).toBe(false)

    redis.does = 'answer'
    await pass(outage === 'stall' ? 1020 + 300 : 1000) // a probe that nobody answered has its own end

    expect(link.isShared).toBe(true)
    expect(changes.map(([isShared]) => isShared)).toEqual([true, false, true])
    link.close()
  },
)

test('that nobody is there at the start is told once', async () => {
  const { redis, link, changes } = scripted('refuse')
  await pass(60_000)
  expect(changes).toEqual([[false, 'refused']])

  redis.does = 'answer'
  await pass(1000)

  expect(changes).toEqual([
    [false, 'refused'],
    [true, null],
  ])
  link.close()
})

test('closed, it leaves no timer behind', async () => {
  const { redis, link } = scripted()
  await pass(0)
  redis.does = 'refuse'
  redis.lose(new Error('lost'))
  await pass(1)

  link.close()
  await pass(0)

  expect(vi.getTimerCount()).toBe(0)
})
