import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ManagedRedis } from '../../../src/features/redis/managed-redis.ts'
import type { ConnectRedis, RedisConnection } from '../../../src/features/redis/redis-connection.ts'
import { calmChanges } from '../../../src/features/redis/redis-registry.ts'
import { consumeScript } from '../../../src/features/redis/redis-server.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }))
afterEach(() => void vi.useRealTimers())

type Behavior = 'reply' | 'late' | 'stall' | 'fail' | 'refuse'

/** Creates a Redis with scripted behavior: it replies, in time or late, is silent, or refuses connections. */
const createScripted = (behavior: Behavior = 'reply') => {
  const redis = { behavior, tries: 0, consumed: 0, lose: (_reason: Error): void => {} }
  const connect: ConnectRedis = async (lost) => {
    redis.tries++
    if (redis.behavior === 'refuse') throw new Error('refused')
    redis.lose = lost
    const connection: RedisConnection = {
      consume: () => {
        redis.consumed++
        if (redis.behavior === 'fail') return Promise.reject(new Error('READONLY'))
        if (redis.behavior === 'late') return new Promise((resolve) => setTimeout(resolve, 30, 1))
        return redis.behavior === 'reply' ? Promise.resolve(1) : new Promise(() => {})
      },
      run: (_, { keys: [key = ''] }) => connection.consume(key, 1, 1),
      probe: () => connection.consume('probe', 1, 1000).then(() => true),
      destroy: () => {},
    }
    return connection
  }
  const changes: (readonly [boolean, string | null])[] = []
  const onChange = (...change: (typeof changes)[number]) => changes.push(change)
  const link = new ManagedRedis({ connect, timeoutMs: 20, timeoutKey: 'limits.redis.timeout', onChange })
  onTestFinished(() => link.close())
  return { redis, link, changes }
}

/** Opens one that is connected, and behaves so from then on. */
const openShared = async (behavior: Behavior = 'reply') => {
  const scripted = createScripted()
  await pass(0)
  scripted.redis.behavior = behavior
  return scripted
}

/** What is reported of an outage. */
const shared = [true, null] as const
const tooSlow = [false, 'no reply within 20ms (limits.redis.timeout)'] as const

const consume = (link: ManagedRedis): Promise<number | null> => link.consume('key', 1, 1)

/** Lets so much time pass, and everything that happens meanwhile. */
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

test('it is shared once a connection has run what requests will send', async () => {
  const { link, changes } = createScripted()
  expect(link.isShared).toBe(false)
  expect(await consume(link)).toBeNull()

  await pass(0)

  expect(link.isShared).toBe(true)
  expect(await consume(link)).toBe(1)
  expect(changes).toEqual([shared])
})

test('a reply that is late is no reply, and several in a row end the use of the connection', async () => {
  const { redis, link, changes } = await openShared('stall')

  const outcomes = Promise.all(Array.from({ length: 5 }, () => consume(link)))
  await pass(21)

  expect(await outcomes).toEqual(Array(5).fill(null))
  expect(link.isShared).toBe(false)
  const { consumed } = redis
  expect(await consume(link)).toBeNull() // at once, without a command
  expect(redis.consumed).toBe(consumed)
  expect(changes).toEqual([shared, tooSlow])
})

test('a reply that is late now and then is a hiccup', async () => {
  const { redis, link } = await openShared()

  for (let n = 0; n < 10; n++) {
    redis.behavior = 'stall'
    const late = consume(link)
    await pass(21)
    expect(await late).toBeNull()
    redis.behavior = 'reply'
    expect(await consume(link)).toBe(1)
  }

  expect(link.isShared).toBe(true)
})

test('replies that are late for requests end its use, though background commands get theirs within their own time', async () => {
  const { link, changes } = await openShared('late')
  const run = (waitMs = link.timeoutMs) => link.run(consumeScript, { keys: ['key'], args: [] }, { waitMs })

  for (let n = 0; n < 5; n++) {
    const inBackground = run(1000)
    await pass(31)
    expect(await inBackground).toBe(1)
    const late = run()
    await pass(31)
    expect(await late).toBeNull()
  }

  expect(changes).toEqual([shared, tooSlow])
})

test('a reply that comes while a request waits longer for it is in time', async () => {
  const { link } = await openShared('late')

  for (let n = 0; n < 10; n++) {
    const late = consume(link)
    await pass(31)
    expect(await late).toBeNull()
    const proof = link.consume('proof', 1, 1, 1000)
    await pass(31)
    expect(await proof).toBe(1)
  }

  expect(link.isShared).toBe(true)
})

test('one reply that does not come at all has the connection tried, though no further command is sent', async () => {
  const { redis, link, changes } = await openShared('stall')
  const late = link.run(consumeScript, { keys: ['key'], args: [] })
  await pass(21)
  expect(await late).toBeNull()
  redis.behavior = 'reply'
  expect(link.isShared).toBe(true)

  await pass(1001 + 500)

  expect(changes).toEqual([shared, [false, 'no reply within 1000ms'], shared])
})

test('a connection that was too slow is used again once it has been in time three times in a row', async () => {
  const { redis, link } = await openShared('late')
  const late = Promise.all(Array.from({ length: 5 }, () => consume(link)))
  await pass(31)
  await late

  const shared: boolean[] = []
  for (const behavior of ['reply', 'reply', 'late', 'reply', 'reply', 'reply'] as const) {
    redis.behavior = behavior
    for (const { consumed } = redis; redis.consumed === consumed; ) await pass(1)
    await pass(31)
    shared.push(link.isShared)
  }

  expect(shared).toEqual([false, false, false, false, false, true])
})

test('a server that refuses to count is as good as none, however well it is connected', async () => {
  const { link, changes } = await openShared('fail')

  for (let n = 0; n < 5; n++) expect(await consume(link)).toBeNull()
  await pass(5000)

  expect(link.isShared).toBe(false)
  expect(changes).toEqual([shared, [false, 'READONLY']])
})

test.each(['refuse', 'stall', 'fail'] as const)(
  'after an outage (%s) it is shared again within a second',
  async (outage) => {
    const { redis, link, changes } = await openShared(outage)
    redis.lose(new Error('lost'))
    await pass(60_000)
    expect(link.isShared).toBe(false)

    redis.behavior = 'reply'
    await pass(outage === 'stall' ? 1020 + 300 : 1000) // a probe without a reply has its own timeout

    expect(link.isShared).toBe(true)
    expect(changes.map(([isShared]) => isShared)).toEqual([true, false, true])
  },
)

test('that Redis is down at the start is reported once', async () => {
  const { redis, changes } = createScripted('refuse')
  await pass(60_000)
  expect(changes).toEqual([[false, 'refused']])

  redis.behavior = 'reply'
  await pass(1000)

  expect(changes).toEqual([[false, 'refused'], shared])
})

test('closed, it tries no more, and leaves no timer behind', async () => {
  const { redis, link } = createScripted()
  await pass(0)
  redis.behavior = 'refuse'
  redis.lose(new Error('lost'))
  await pass(1)

  link.close()
  const { tries } = redis
  await pass(0)
  const timers = vi.getTimerCount()
  await pass(60_000)

  expect([redis.tries, timers]).toEqual([tries, 0])
})

/** Collects what is logged of a Redis; `flap` has it go and come again, so often, within so long. */
const openLog = () => {
  const lines: string[] = []
  const onChange = calmChanges(
    (level, event, fields) => void lines.push(`${level} ${event} ${JSON.stringify(fields)}`),
    'here',
    'gone',
  )
  const flap = (times: number, ms: number): void => {
    for (let n = 0; n < times; n++) {
      onChange(false, 'lost')
      onChange(true, null)
      vi.advanceTimersByTime(ms / times)
    }
  }
  return { lines, onChange, flap }
}

const gone = 'warn gone {"reason":"lost"}'
const back = 'info here {}'

test('two outages in a minute are logged as they come, and so are those of the minutes after', () => {
  const { lines, flap } = openLog()

  flap(2, 60_000)
  flap(2, 60_000)

  expect(lines).toEqual(new Array(4).fill([gone, back]).flat())
})

test('a Redis that comes and goes is logged once a minute', () => {
  const { lines, flap } = openLog()
  flap(300, 60_000)
  lines.length = 0

  flap(600, 120_000)

  expect(lines).toEqual(new Array(2).fill('info here {"changes":600}'))
})

test('one that stays away in the end is logged as that, and its return at once when a minute was quiet', () => {
  const { lines, onChange, flap } = openLog()
  flap(150, 30_000)
  onChange(false, 'refused')
  lines.length = 0

  vi.advanceTimersByTime(120_000)
  onChange(true, null)

  expect(lines).toEqual(['warn gone {"reason":"refused","changes":297}', back])
})
