/** The answers of a candidate beside those of its primary, on real connections: what is told, and what never is. */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import type { getShadowReport } from '../../../../../src/features/candidate/status/candidate-status.ts'
import type { ComparisonView } from '../../../../../src/features/candidate/status/describe-comparison.ts'
import type { Settings } from '../../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../../helpers/live-gateway.ts'
import { describeTests, drill, test } from '../../../../helpers/speed.ts'
import {
  httpUpstream,
  onRequest,
  type ReceivedRequest,
  rawUpstream,
  type TestUpstream,
} from '../../../../helpers/upstream.ts'

type Answering = (request: ReceivedRequest, response: ServerResponse) => void

const json =
  (document: unknown, fields: Readonly<Record<string, string>> = {}): Answering =>
  (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', ...fields })
    response.end(JSON.stringify(document))
  }

interface Compared {
  readonly live: LiveGateway
  readonly primary: TestUpstream
  readonly candidate: TestUpstream
  readonly settings: (shadow?: object, more?: object) => Settings
}

/** Boots a gateway that compares all GETs. */
const boot = async (primaryAnswer: Answering, candidateAnswer: Answering, compare?: unknown): Promise<Compared> => {
  const [primary, candidate] = [await httpUpstream(primaryAnswer), await httpUpstream(candidateAnswer)]
  const settings = (shadow: object = compare === undefined ? {} : { compare }, more: object = {}): Settings => ({
    upstreams: {
      market: {
        endpoints: [primary.url],
        candidate: { endpoints: [candidate.url], shadow: { sample: '100%', ...shadow }, ...more },
      },
    },
  })
  return { live: await bootLiveGateway(settings()), primary, candidate, settings }
}

const get = async ({ url }: LiveGateway, init: RequestInit = {}, query = ''): Promise<Response> => {
  const response = await fetch(`${url}/market/insights${query}`, { redirect: 'manual', ...init })
  await response.arrayBuffer().catch(() => {})
  return response
}

const getMany = async (live: LiveGateway, times: number): Promise<void> => {
  for (let n = 0; n < times; n++) await get(live)
}

const comparisonsOf = async ({ admin }: LiveGateway): Promise<readonly ComparisonView[]> =>
  ((await fetchAdmin(`${admin}/shadow`)).body as unknown as Awaited<ReturnType<typeof getShadowReport>>).comparisons

const comparisonOf = async (live: LiveGateway): Promise<ComparisonView> => {
  const [first] = await comparisonsOf(live)
  if (first === undefined) throw new Error('nothing is compared')
  return first
}

const uncomparedOf = ({ operations }: ComparisonView): number =>
  operations.flatMap(({ uncompared }) => Object.values(uncompared)).reduce((sum, count) => sum + count, 0)

/** Waits until so many pairs are done with. */
const settled = async (live: LiveGateway, pairs: number): Promise<ComparisonView> => {
  const done = async () => {
    const comparison = await comparisonOf(live)
    return comparison.compared + uncomparedOf(comparison)
  }
  await expect.poll(done, { timeout: 30_000 }).toBe(pairs)
  return comparisonOf(live)
}

const placesOf = ({ rows }: ComparisonView): readonly string[] =>
  rows.map(({ operation, kind, pointer, count }) => `${operation} ${kind} ${pointer} ${count}`).toSorted()

test('answers that are the same are equal, whatever the order of their members', async () => {
  const { live } = await boot(json({ grade: 'A', n: 1 }), json({ n: 1, grade: 'A' }))

  await getMany(live, 3)

  expect(await settled(live, 3)).toMatchObject({ verdict: '3 compared, all equal', compared: 3, equal: 3, rows: [] })
})

test('a defect is told with its place and the request, and without values', async () => {
  const { live } = await boot(json({ grade: 'AA-secret' }), json({ grade: 'BB-secret' }))

  await getMany(live, 2)
  await get(live, { headers: { 'X-Request-Id': 'r-17' } })
  const comparison = await settled(live, 3)

  expect(comparison.verdict).toBe('3 compared, none equal; /grade differs in 3')
  expect(comparison.rows).toMatchObject([
    { operation: 'market.insights', kind: 'value', pointer: '/grade', count: 3, recent: 3, requestId: 'r-17' },
  ])
  expect(comparison.rows[0]?.pairs).toMatchObject([{ count: 3, primary: null, candidate: null }])
  expect(JSON.stringify(comparison)).not.toContain('secret')
})

test('values are told where the file asks for examples', async () => {
  const { live } = await boot(json({ grade: 'A' }), json({ grade: 'B' }), { examples: true })

  await getMany(live, 2)

  expect((await settled(live, 2)).verdict).toBe('2 compared, none equal; /grade differs in 2 (A→B 2)')
})

test('one field of ten thousand is found', async () => {
  const members = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`member-${n}x`, n]))
  const { live } = await boot(json(members), json({ ...members, 'member-7777x': -1 }))

  await get(live)

  expect(placesOf(await settled(live, 1))).toEqual(['market.insights value /member-7777x 1'])
})

describeTests('the rules of the file', () => {
  test('leave out what they ignore, and numbers and orders that they allow', async () => {
    const of = (at: number, rate: number, ids: readonly number[]) =>
      json({ meta: { at }, rate, items: ids.map((id) => ({ id, name: `n${id}`, at })) }, { Location: `/${at}` })
    const compare = { ignore: ['/meta/at', '/items/*/at'], numbers: '1%', arrays: { '/items': 'id' } }
    const { live } = await boot(of(1, 100, [1, 2, 3]), of(2, 100.9, [3, 1, 2]), compare)

    await get(live)

    expect((await settled(live, 1)).verdict).toBe('1 compared, all equal')
  })

  test('add response fields', async () => {
    const { live } = await boot(json({}, { 'X-Model': '1' }), json({}, { 'X-Model': '2' }), { fields: ['X-Model'] })

    await get(live)

    expect(placesOf(await settled(live, 1))).toEqual(['market.insights field x-model 1'])
  })

  test('compare nothing with none', async () => {
    const { live, candidate } = await boot(json({}), json({}), 'none')

    await get(live)
    await expect.poll(() => candidate.requests.length, { timeout: 30_000 }).toBe(1)

    expect(await comparisonsOf(live)).toEqual([])
  })
})

describe('noise', () => {
  const noisy =
    (price: number): Answering =>
    (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'X-Trace': randomUUID() })
      const lines = [1, 2, 3].map((n) => ({ id: randomUUID(), n, seenAt: Date.now() + Math.random() }))
      const times = { generatedAt: performance.now(), wholeSeconds: Math.floor(Date.now() / 1000) }
      response.end(JSON.stringify({ id: randomUUID(), ...times, lines, price }))
    }

  drill('that is learnt from the primary leaves exactly the planted defect', async () => {
    const compare = { noise: true, fields: ['X-Trace'] }
    const { live, primary, candidate } = await boot(noisy(100), noisy(101), compare)

    await expect
      .poll(
        async () => {
          await get(live)
          return (await comparisonOf(live)).compared
        },
        { timeout: 60_000, interval: 1 },
      )
      .toBeGreaterThanOrEqual(20)

    const comparison = await comparisonOf(live)
    expect(comparison.rows.map(({ kind, pointer }) => `${kind} ${pointer}`)).toEqual(['value /price'])
    expect(comparison.noise.map(({ kind, pointer }) => `${kind} ${pointer}`).toSorted()).toEqual([
      'field x-trace',
      'value /generatedAt',
      'value /id',
      'value /lines/*/id',
      'value /lines/*/seenAt',
      'value /wholeSeconds',
    ])
    const isMarked = ({ rawHeaders }: ReceivedRequest) => rawHeaders.includes('X-Shadow')
    expect(primary.requests.filter(isMarked).length).toBe(comparison.shadow.repeated)
    expect(candidate.requests.length).toBe(comparison.shadow.sent)
    expect(candidate.requests.every(isMarked)).toBe(true)
  })

  test('is learnt with the credentials that the primary has got, which the candidate does not get', async () => {
    const { live, primary, candidate } = await boot(noisy(1), noisy(1), { noise: true })

    const isMarked = ({ rawHeaders }: ReceivedRequest) => rawHeaders.includes('X-Shadow')
    await expect
      .poll(
        async () => {
          await get(live, { headers: { Authorization: 'Bearer secret-1' } }, '?a=1')
          return primary.requests.filter(isMarked).length
        },
        { timeout: 60_000, interval: 1 },
      )
      .toBeGreaterThanOrEqual(5)

    const repeats = primary.requests.filter(isMarked)
    expect(candidate.requests.length).toBeGreaterThan(0)
    expect(repeats.every(({ url, rawHeaders }) => url.endsWith('?a=1') && rawHeaders.includes('Bearer secret-1'))).toBe(
      true,
    )
    expect(JSON.stringify(candidate.requests.map(({ rawHeaders }) => rawHeaders))).not.toContain('secret-1')
  })
})

describeTests('answers', () => {
  test('that are compressed otherwise are equal', async () => {
    const document = Buffer.from(JSON.stringify({ grade: 'A', list: Array.from({ length: 100 }, (_, n) => n) }))
    const coded =
      (body: Buffer, coding: string): Answering =>
      (_, response) =>
        response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': coding }).end(body)
    const { live } = await boot(coded(gzipSync(document), 'gzip'), coded(brotliCompressSync(document), 'br'))

    await get(live)

    expect((await settled(live, 1)).verdict).toBe('1 compared, all equal')
  })

  test('of which the candidate has none, or another status, differ', async () => {
    const primary = await httpUpstream(json({}))
    const candidate = await rawUpstream((socket, nth) =>
      onRequest(socket, () => {
        if (nth === 0) socket.resetAndDestroy()
        else socket.end('HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      }),
    )
    const live = await bootLiveGateway({
      upstreams: {
        market: {
          endpoints: [primary.url],
          candidate: { endpoints: [candidate.url], shadow: { sample: '100%', concurrency: 1 } },
        },
      },
    })

    await get(live)
    await settled(live, 1)
    await get(live)
    const comparison = await settled(live, 2)

    expect(placesOf(comparison)).toEqual(['market.insights failure  1', 'market.insights status  1'])
    expect(comparison.verdict).toMatch(/^2 compared, none equal; /)
    expect(comparison.verdict).toContain('another status comes in 1 (200→500 1)')
    expect(comparison.verdict).toContain('no whole answer comes in 1 (200→')
  })

  test('that the primary itself fails are not compared', async () => {
    const { live } = await boot((_, response) => {
      response.writeHead(200, { 'Content-Length': '100' })
      response.write('{')
      setImmediate(() => response.destroy())
    }, json({}))

    await get(live)

    expect((await settled(live, 1)).verdict).toBe('nothing was compared yet: 1 not compared (primary-failed)')
  })

  test('that say that the copy of the client is still good are compared by that alone', async () => {
    const validating =
      (etag: string): Answering =>
      ({ rawHeaders }, response) => {
        const isGood = rawHeaders.some((value) => value.includes(etag))
        response.writeHead(isGood ? 304 : 200, { ETag: etag, 'Content-Type': 'text/plain' }).end(isGood ? '' : 'text')
      }
    const { live } = await boot(validating('"a"'), validating('"b"'))

    await get(live, { headers: { 'If-None-Match': '"a"' } })
    const other = await settled(live, 1)
    await get(live, { headers: { 'If-None-Match': '"a", "b"' } })

    expect(other.verdict).toBe('nothing was compared yet: 1 not compared (not-modified)')
    expect((await settled(live, 2)).verdict).toBe('1 compared, all equal, 1 not compared (not-modified)')
  })

  test('that redirect are not followed, and differ by a field that is compared', async () => {
    const redirecting =
      (location: string): Answering =>
      (_, response) =>
        response.writeHead(302, { Location: location }).end()
    const { live, candidate } = await boot(redirecting('/a'), redirecting('/b'), { fields: ['Location'] })

    await get(live)

    expect(placesOf(await settled(live, 1))).toEqual(['market.insights field location 1'])
    expect(candidate.requests).toHaveLength(1)
  })

  test('to POSTs are compared as those to GETs are', async () => {
    const primary = await httpUpstream(({ body }, response) => json({ of: body.toString() })({} as never, response))
    const candidate = await httpUpstream(json({ of: 'another' }))
    const shadow = { sample: '100%', posts: true, sideEffects: 'none', compare: { noise: true } }
    const live = await bootLiveGateway({
      upstreams: { risk: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], shadow } } },
    })

    await (await fetch(`${live.url}/risk/asset-valuation`, { method: 'POST', body: 'a' })).text()

    expect(placesOf(await settled(live, 1))).toEqual(['risk.asset-valuation value /of 1'])
    // A POST is never sent twice, also not to learn noise.
    expect(primary.requests).toHaveLength(1)
  })
})

describeTests('a reload', () => {
  test('that leaves what is compared as it is keeps the report', async () => {
    const { live, settings } = await boot(json({ n: 1 }), json({ n: 2 }))
    await get(live)
    const before = await settled(live, 1)

    live.edit(settings({ sample: '50%' }, { share: '0.01%' }))
    expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(200)
    const after = await comparisonOf(live)

    expect([after.compared, after.since]).toEqual([1, before.since])
  })

  test.each<[string, object]>([
    ['of the rules', { compare: { ignore: ['/n'] } }],
    ['of the largest body', { maxBody: '64KiB' }],
  ])('%s begins anew', async (_, shadow) => {
    const { live, settings } = await boot(json({ n: 1 }), json({ n: 2 }))
    await get(live)
    await settled(live, 1)

    live.edit(settings(shadow))
    expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(200)

    expect((await comparisonOf(live)).compared).toBe(0)
  })
})

drill('after an abort nothing more is compared, and the report stays', async () => {
  const { live, primary, candidate } = await boot(json({ n: 1 }), json({ n: 2 }), { noise: true })
  await getMany(live, 3)
  await expect.poll(() => primary.requests.length + candidate.requests.length, { timeout: 30_000 }).toBe(6)

  const order = { method: 'POST', body: JSON.stringify({ group: 'market', abort: true }) }
  expect((await fetchAdmin(`${live.admin}/shift`, 'POST', order)).status).toBe(200)
  const { shadow: before } = await comparisonOf(live)
  await getMany(live, 5)
  const { shadow: after } = await comparisonOf(live)

  expect([after.sent, after.repeated]).toEqual([before.sent, before.repeated])
  expect(primary.requests.length + candidate.requests.length).toBe(11)
})

test('requests of clients on the candidate are not compared', async () => {
  const { live, settings, candidate } = await boot(json({ n: 1 }), json({ n: 2 }))
  live.edit(settings({}, { share: '100%' }))
  expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(200)

  await getMany(live, 3)

  expect(candidate.requests).toHaveLength(3)
  expect(await comparisonOf(live)).toMatchObject({ compared: 0, shadow: { sent: 0 } })
})
