import { afterEach, describe, expect, test, vi } from 'vitest'
import { type CachePartition, createCachePartition } from '../../../../src/features/cache/partition.ts'
import { CacheStore } from '../../../../src/features/cache/store/cache-store.ts'
import {
  type CacheKey,
  emptyStoredBody,
  StoredBody,
  type StoredResponse,
} from '../../../../src/features/cache/store/stored-response.ts'
import { collectGarbage } from '../../../helpers/collect-garbage.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { Client, createResponse, FedBody, openCache } from '../helper.ts'
import { assess } from '../policy/helper.ts'

const kib = 1024

const entry = (bytes = 10, fields: readonly string[] = []): StoredResponse => {
  const { head } = assess(['Cache-Control', 'max-age=60', ...fields])
  if (head === null) throw new Error('not storable')
  return { head, body: new StoredBody(Buffer.alloc(bytes)) }
}

const named = (query: string, client = ''): CacheKey => ({ client, site: 'http://gateway', query })

const put = (partition: CachePartition, query: string, stored: StoredResponse, client = '', replaces = true): boolean =>
  partition.put(partition.reserve(named(query, client)), stored, () => replaces)

/** Opens a store of so many KiB with a partition. */
const openStore = (size = 64) => {
  const store = new CacheStore(size * kib)
  return { store, partition: createCachePartition(store, 'market.insights') }
}

const found = (partition: CachePartition, query: string, client = ''): StoredResponse | undefined =>
  partition.find(partition.toStoreKey(named(query, client)))?.variants[0]

describe('the limit of bytes', () => {
  test('holds whatever is put, and the least recently used goes first', () => {
    const { store, partition } = openStore()
    for (const query of ['?1', '?2', '?3']) put(partition, query, entry(16 * kib))
    found(partition, '?1')

    put(partition, '?4', entry(16 * kib))

    expect(['?1', '?2', '?3', '?4'].filter((query) => found(partition, query))).toEqual(['?1', '?3', '?4'])
    expect(store.bytes).toBeLessThanOrEqual(64 * kib)
    expect(store.evictions).toBe(1)
  })

  test('that becomes smaller has the least recently used go', () => {
    const { store, partition } = openStore()
    for (const query of ['?1', '?2', '?3']) put(partition, query, entry(16 * kib))
    store.setMaxBytes(32 * kib)

    expect(['?1', '?2', '?3'].filter((query) => found(partition, query))).toEqual(['?3'])
  })

  test('counts bodies, fields and keys', () => {
    const sizes = [
      ['?', entry(0)],
      ['?', entry(10_000)],
      ['?', entry(0, ['X-Large', 'x'.repeat(10_000)])],
      [`?${'x'.repeat(10_000)}`, entry(0)],
    ] as const

    const [smallest, ...others] = sizes.map(([query, response]) => {
      const store = new CacheStore(64 * kib)
      put(createCachePartition(store, 'market.insights'), query, response)
      return store.bytes
    })

    expect(smallest).toBeGreaterThan(500)
    for (const bytes of others) expect(bytes - (smallest ?? 0)).toBeGreaterThanOrEqual(10_000)
    expect((others.at(-1) ?? 0) - (smallest ?? 0)).toBeGreaterThanOrEqual(20_000) // in the key, and in its copy
  })

  test('is never exceeded by an entry that does not fit, and the others stay', () => {
    const { partition } = openStore()
    put(partition, '?small', entry())
    put(partition, '?large', entry(65 * kib))

    expect(['?small', '?large'].filter((query) => found(partition, query))).toEqual(['?small'])
  })

  test('is the sum of its entries after any sequence of puts, hits and removals', () => {
    const store = new CacheStore(256 * kib)
    const parts = [
      createCachePartition(store, 'market.insights'),
      createCachePartition(store, 'leads.pipeline'),
    ] as const
    let seed = 7
    const random = (below: number): number => {
      seed = (seed * 48271) % 2147483647
      return seed % below
    }
    for (let i = 0; i < 1000; i++) {
      const partition = parts[random(2)] as CachePartition
      const [query, client] = [`?${random(40)}`, random(2) === 0 ? '' : `client-${random(3)}`]
      const what = random(20)
      if (what < 12) put(partition, query, entry(random(9000)), client, random(2) === 0)
      else if (what < 17) found(partition, query, client)
      else if (what < 18) partition.invalidate(query)
      else if (what < 19) store.purge({ operation: null, client: `client-${random(3)}` })
      else partition.remove(partition.toStoreKey(named(query, client)), () => random(2) === 0)
      expect(store.bytes).toBeLessThanOrEqual(256 * kib)
      expect(store.bytes).toBe(parts[0].bytes + parts[1].bytes)
    }
    const before = store.bytes
    const scope = store.purge({ operation: null, client: null })

    expect(before).toBeGreaterThan(100 * kib)
    expect(scope).toBeGreaterThan(10)
    expect([store.bytes, store.size, parts[0].entries, parts[1].entries]).toEqual([0, 0, 0, 0])
  })
})

test('keeps nothing of the head that a request is cut out of', () => {
  const [entries, bytes] = [20, 512 * kib]
  let nth = 0
  const cutOut = (): string =>
    Buffer.alloc(bytes, 'x').toString('latin1').concat(',', `a value, the ${nth++}th`).slice(-20)
  const { partition } = openStore(1024)
  collectGarbage()
  const before = process.memoryUsage().heapUsed

  for (let i = 0; i < entries; i++) {
    const request = ['Accept-Language', cutOut(), 'X-Plain', cutOut()]
    const { head } = assess(['Cache-Control', 'max-age=60', 'Vary', 'Accept-Language, X-Plain'], { request })
    if (head === null) throw new Error('not storable')
    const cacheKey = { client: '', site: cutOut(), query: cutOut() }
    partition.put(partition.reserve(cacheKey), { head, body: emptyStoredBody }, () => true)
    partition.hitForMiss.mark(partition.toStoreKey({ ...cacheKey, query: cutOut() }), 'no-lifetime')
  }
  collectGarbage()

  expect(process.memoryUsage().heapUsed - before).toBeLessThan((entries * bytes) / 2)
  expect(partition.entries).toBe(entries)
})

describe('a reservation', () => {
  test('counts, makes room for itself, and takes no more than half', () => {
    const { store, partition } = openStore()
    for (const query of ['?1', '?2', '?3']) put(partition, query, entry(18 * kib))
    const [first, second] = [partition.reserve(named('?a')), partition.reserve(named('?b'))]

    const grown = [first.grow(30 * kib), second.grow(3 * kib), second.grow(2 * kib)]

    expect(grown).toEqual([true, false, true])
    expect(store.bytes).toBeLessThanOrEqual(64 * kib)
    expect(store.size).toBe(1)
    first.release()
    second.release()
    first.release()
    expect(store.bytes).toBe(partition.bytes)
  })

  test('gives back its room, though the limit has become smaller since', () => {
    const { store, partition } = openStore()
    const reservations = [partition.reserve(named('?a')), partition.reserve(named('?b'))]
    for (const each of reservations) each.grow(15 * kib)

    store.setMaxBytes(10 * kib)
    for (const each of reservations) each.release()
    put(partition, '?b', entry(8 * kib))

    expect(store.bytes).toBe(partition.bytes)
    expect(found(partition, '?b')).toBeDefined()
  })

  test('is canceled when its operation, its client or its query is purged', () => {
    const { store, partition } = openStore()
    const stay = createCachePartition(store, 'leads.pipeline').reserve(named('?a', 'ann'))
    const names = [named('?a', 'ann'), named('?a', 'bob'), named('?b', 'ann')]
    const before = names.map((each) => partition.reserve(each))

    store.purge({ operation: 'market.insights', client: 'ann' })
    const afterClear = before.map(({ isCanceled }) => isCanceled)
    partition.invalidate('?a')
    const afterInvalidation = before.map(({ isCanceled }) => isCanceled)
    for (const reservation of before) partition.put(reservation, entry(), () => true)

    expect(afterClear).toEqual([true, false, true])
    expect(afterInvalidation).toEqual([true, true, true])
    expect([stay.isCanceled, partition.entries]).toEqual([false, 0])
  })

  test('stores nothing in a partition that has been closed', () => {
    const { store, partition } = openStore()
    const reservation = partition.reserve(named('?a'))
    put(partition, '?b', entry())

    partition.close()
    partition.put(reservation, entry(), () => true)
    put(partition, '?c', entry())

    expect([store.size, store.bytes, partition.entries]).toEqual([0, 0, 0])
  })
})

describe('a purge', () => {
  const filled = () => {
    const store = new CacheStore(256 * kib)
    const market = createCachePartition(store, 'market.insights')
    const leads = createCachePartition(store, 'leads.pipeline')
    for (const partition of [market, leads])
      for (const client of ['', 'ann', 'bob']) for (const query of ['?a', '?b']) put(partition, query, entry(), client)
    return { store, market, leads }
  }

  test.each([
    [{ operation: null, client: null }, 12],
    [{ operation: 'market.insights', client: null }, 6],
    [{ operation: null, client: 'ann' }, 4],
    [{ operation: 'leads.pipeline', client: 'bob' }, 2],
    [{ operation: 'valuation.score', client: null }, 0],
  ] as const)('%j: %i responses', (scope, removed) => {
    const { store } = filled()

    expect(store.purge(scope)).toBe(removed)
    expect(store.size).toBe(12 - removed)
  })

  test('by a query is for all clients, and for no other operation', () => {
    const { store, market, leads } = filled()
    market.invalidate('?a')

    expect(['', 'ann', 'bob'].map((client) => found(market, '?a', client))).toEqual([undefined, undefined, undefined])
    expect(['', 'ann', 'bob'].every((client) => found(market, '?b', client) && found(leads, '?a', client))).toBe(true)
    expect(store.size).toBe(9)
  })

  test('a new partition of an operation finds nothing of the old one', () => {
    expect(found(createCachePartition(filled().store, 'market.insights'), '?a')).toBeUndefined()
  })
})

test('no client has the key of another, whatever its name and its query are', () => {
  const { partition } = openStore()
  const names = ['', 'a', 'a\n', 'a\nb', '\n', 'a?x', '?x']
  const queries = ['', '?x', '?', '?a?x']
  const keys = names.flatMap((name) => queries.map((query) => partition.toStoreKey(named(query, name))))

  expect(new Set(keys).size).toBe(names.length * queries.length)
})

test('variants are limited for one key, and the oldest goes', () => {
  const { partition } = openStore(1024)
  const all = Array.from({ length: 40 }, () => entry())
  for (const each of all) put(partition, '', each, '', false)

  const variants = partition.find(partition.toStoreKey(named('')))?.variants ?? []
  expect([variants.length, variants[0] === all[39], partition.entries]).toEqual([32, true, 32])
})

describe('keys whose responses cannot be shared', () => {
  afterEach(() => void vi.restoreAllMocks())

  test('are remembered for five seconds', () => {
    const { hitForMiss } = openStore().partition
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1000)
    hitForMiss.mark('a', 'no-store')

    clock.mockReturnValue(5999)
    const [before, other] = [hitForMiss.has('a'), hitForMiss.has('b')]
    clock.mockReturnValue(6000)

    expect([before, other, hitForMiss.has('a')]).toEqual([true, false, false])
  })

  test('are forgotten when there are too many', () => {
    const { hitForMiss } = openStore().partition
    for (let i = 0; i < 1000; i++) hitForMiss.mark(`${'x'.repeat(8000)}${i}`, 'private')

    const known = Array.from({ length: 1000 }, (_, i) => hitForMiss.has(`${'x'.repeat(8000)}${i}`))
    expect(known.filter(Boolean).length).toBeLessThan(33)
    expect(known[999]).toBe(true)
  })
})

const bodyBytes = 100 * 1024
const maxBytes = 1024 * 1024

const fresh = ['Cache-Control', 'max-age=60', 'ETag', '"a"']

/** Opens a cache. `fetch` has what is not stored come whole, and does not read it. */
const openSmallCache = () => {
  const stage = openCache({ maxEntry: 2 * bodyBytes }, maxBytes)
  const ask = (query: string, fields: readonly string[] = []) => {
    const exchange = fakeExchange({ query, fields: [...fields] })
    return { exchange, response: stage.handle(exchange) }
  }
  const fetch = async (query: string) => {
    const { exchange, response } = ask(query)
    const body = new FedBody()
    await stage.sent.at(-1)?.respond(createResponse([...fresh, 'Content-Length', String(bodyBytes)], body))
    body.feed('a'.repeat(bodyBytes)).end()
    return { exchange, response: await response }
  }
  return { ...stage, ask, fetch }
}

// The attack: fetch one response after another and read none. An evicted body stays in memory for a client that does
// not read.
test('a body that has left the store counts as long as a client reads it, and no more is taken than there is room for', async () => {
  const { fetch, store, partition } = openSmallCache()

  const unread = []
  for (let nth = 0; nth < 50; nth++) unread.push(await fetch(`?nth=${nth}`))
  const inMemory = unread.filter(({ response }) => response.body.isShared).length
  const bytes = store.bytes
  for (const { exchange } of unread) exchange.finish()

  expect(inMemory * bodyBytes).toBeLessThanOrEqual(maxBytes)
  expect(bytes).toBeLessThanOrEqual(maxBytes)
  expect(store.bytes).toBe(partition.bytes)
  expect((await fetch('?nth=again')).response.body.isShared).toBe(true)
})

test('a body that is read from the store counts once, and on after a purge, until all have it', async () => {
  const { ask, fetch, store, partition } = openSmallCache()
  const first = await fetch('')
  new Client(first.response.body)
  first.exchange.finish()
  const stored = store.bytes
  const hits = [ask(''), ask('')]
  await Promise.all(hits.map(({ response }) => response))

  const whileRead = store.bytes
  store.purge({ operation: null, client: null })
  const purged = [partition.bytes, store.bytes]
  hits[0]?.exchange.finish()
  const oneLeft = store.bytes
  hits[1]?.exchange.finish()

  expect([whileRead, ...purged, oneLeft, store.bytes]).toEqual([stored, 0, bodyBytes, bodyBytes, 0])
})

test('a body that is validated while it is read does not count twice', async () => {
  const { ask, fetch, store, sent } = openSmallCache()
  await fetch('')
  const stored = store.bytes
  const { exchange, response } = ask('', ['Cache-Control', 'no-cache'])

  await sent.at(-1)?.respond(createResponse(fresh, '', 304))
  await response

  expect(store.bytes).toBe(stored)
  exchange.finish()
  expect(store.bytes).toBe(stored)
})
