/** `cache.ttl` beside what else decides on a stored response: validation, errors, a candidate, the contract, Redis. */
import { describe, expect, test, vi } from 'vitest'
import { clientBucket } from '../../../../src/features/candidate/layers/side.ts'
import { sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { startRedis } from '../../../helpers/redis.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues, type WireResponse } from '../../../helpers/wire.ts'

const program = await needProgram('redis-server')

interface ContractAnswer {
  readonly contract: { readonly operations: { readonly 'market.insights': { readonly response: unknown } } }
}

interface Scripted {
  readonly status?: number
  readonly fields?: readonly string[]
  readonly body?: string
}

/** Opens an upstream that sends these responses one after the other, and the last again and again. */
const scripted = (...responses: readonly Scripted[]) => {
  let at = 0
  return httpUpstream((_, response) => {
    const { status = 200, fields = [], body = 'a' } = responses[Math.min(at++, responses.length - 1)] ?? {}
    response.writeHead(status, ['Content-Type', 'application/json', ...fields])
    response.end(body)
  })
}

const boot = (upstream: string, cache: object = { ttl: '60s' }, more: Settings = {}) =>
  bootGateway({ upstream, operations: { 'market.insights': { cache } }, ...more })

const statusOf = ({ fields }: WireResponse): string =>
  fieldValues(fields, 'cache-status').join().replace('lender-gateway;', '')

const outcomes = async (port: number, times: number): Promise<readonly string[]> => {
  const got: string[] = []
  for (let n = 0; n < times; n++) got.push(statusOf(await call(port)))
  return got
}

const stored = expect.stringMatching(/^fwd=uri-miss;stored;ttl=(60|[1-5]?\d)$/)
const hit = expect.stringMatching(/^hit;ttl=(60|[1-5]?\d)$/)
const missed = expect.stringMatching(/^fwd=uri-miss(?!.*stored)/)

describe('a response that says nothing of its freshness', () => {
  test('is stored for as long as ttl says, and its client sees no lifetime in it', async () => {
    const upstream = await scripted({})
    const { port } = await boot(upstream.url)

    const got = [await call(port), await call(port)]

    expect(got.map(statusOf)).toEqual([stored, hit])
    expect(got.map(({ fields }) => fieldValues(fields, 'cache-control'))).toEqual([[], []])
    expect(upstream.requests).toHaveLength(1)
  })

  test.each<[string, Scripted, object]>([
    ['of another status than 200', { status: 404 }, { ttl: '60s' }],
    ['of a status that the map does not name', { status: 200 }, { ttl: { 404: '60s' } }],
    ['of a 500', { status: 500 }, { ttl: '60s' }],
    ['with no-store', { fields: ['Cache-Control', 'no-store'] }, { ttl: '60s' }],
    ['with private', { fields: ['Cache-Control', 'private'] }, { ttl: '60s' }],
    ['with a cookie', { fields: ['Set-Cookie', 'a=b'] }, { ttl: '60s' }],
  ])('is not stored: %s', async (_, response, cache) => {
    const upstream = await scripted(response)
    const { port } = await boot(upstream.url, cache)

    expect(await outcomes(port, 2)).toEqual([missed, missed])
    expect(upstream.requests).toHaveLength(2)
  })

  test.each<[string, readonly string[]]>([
    ['says itself that it is stale', ['Cache-Control', 'max-age=0']],
    ['has expired', ['Expires', '0']],
    ['is older than ttl', ['Age', '61']],
  ])('is no hit where it %s', async (_, fields) => {
    const upstream = await scripted({ fields })
    const { port } = await boot(upstream.url)

    expect(await outcomes(port, 2)).toEqual([
      expect.stringMatching(/^fwd=uri-miss;.*ttl=-\d+$/),
      expect.stringMatching(/^fwd=stale;.*ttl=-\d+$/),
    ])
    expect(upstream.requests).toHaveLength(2)
  })

  test('is stored by its status where the map names it', async () => {
    const upstream = await scripted({ status: 404 })
    const { port } = await boot(upstream.url, { ttl: { 404: '60s' } })

    expect(await outcomes(port, 2)).toEqual([stored, hit])
  })

  test('is not stored for a client with a credential', async () => {
    const upstream = await scripted({})
    const { port } = await boot(upstream.url)
    const fields = ['Authorization', 'Bearer a']

    const got = [await call(port, { fields }), await call(port, { fields })]

    expect(got.map(statusOf)).toEqual(Array(2).fill(expect.stringMatching(/^fwd=bypass/)))
    expect(upstream.requests).toHaveLength(2)
  })
})

describe('a stored response that has come to the end of ttl', () => {
  const old = { fields: ['ETag', '"a"', 'Age', '61'] }

  test('is validated, and a 304 without a lifetime gives it ttl anew', async () => {
    const upstream = await scripted(old, { status: 304, fields: ['ETag', '"a"'], body: '' })
    const { port } = await boot(upstream.url)

    // RFC 9111 §4.3.4: the stored response is freshened by the fields of the 304.
    expect(await outcomes(port, 3)).toEqual([
      expect.stringMatching(/^fwd=uri-miss;stored;ttl=-\d+$/),
      expect.stringMatching(/^fwd=stale;fwd-status=304;stored;ttl=(60|[1-5]?\d)$/),
      hit,
    ])
    expect(upstream.requests.map((request) => receivedValues(request, 'if-none-match'))).toEqual([[], ['"a"']])
  })

  test('stands in for an error by staleIfError, and the error is not stored', async () => {
    const upstream = await scripted(old, { status: 503, body: 'down' }, { body: 'b' })
    const { port } = await boot(upstream.url, { ttl: { 200: '60s', 501: '60s' }, staleIfError: '10m' })

    const got = [await call(port), await call(port), await call(port), await call(port)]

    expect(got.map(({ status, body }) => [status, body.toString()])).toEqual([
      [200, 'a'],
      [200, 'a'],
      [200, 'b'],
      [200, 'b'],
    ])
    expect(upstream.requests).toHaveLength(3)
  })
})

test('each side of a candidate has a stored response of its own', async () => {
  const { primary, candidate } = await sideUpstreams()
  const settings = withCandidate(primary.url, candidate.url, { share: '50%' })
  const { port } = await bootGateway({
    ...settings,
    listen: { trustedProxies: ['127.0.0.1'] },
    operations: { 'market.insights': { cache: { ttl: '60s' } } },
  })
  const addresses = Array.from({ length: 100 }, (_, n) => `192.0.2.${n}`)
  const isThere = (address: string): boolean => clientBucket('market', { address }) < 5000
  const clients = [addresses.find(isThere) ?? '', addresses.find((address) => !isThere(address)) ?? '']

  const bodies: string[] = []
  for (const client of [...clients, ...clients])
    bodies.push((await call(port, { fields: ['X-Forwarded-For', client] })).body.toString())

  expect(bodies).toEqual(['candidate', 'primary', 'candidate', 'primary'])
  expect([primary.requests.length, candidate.requests.length]).toEqual([1, 1])
})

describe('with a contract', () => {
  const document = {
    openapi: '3.1.0',
    info: { title: 'Insights', version: '1.0.0' },
    paths: {
      '/market/insights': {
        get: {
          responses: {
            200: {
              description: 'insights',
              content: { 'application/json': { schema: { type: 'object', required: ['grade'] } } },
            },
          },
        },
      },
    },
  }
  const [bad, good] = [{ body: '{"other":"A"}' }, { body: '{"grade":"A"}' }]

  test('in report mode a response that breaks it is stored, and counted once', async () => {
    const upstream = await scripted(bad)
    const live = await bootLiveGateway({
      upstream: upstream.url,
      operations: { 'market.insights': { cache: { ttl: '60s' } } },
      contract: { file: contractFile(document), response: 'report' },
    })

    expect(await outcomes(live.gateway.address.port, 3)).toEqual([stored, hit, hit])
    const counts = async (): Promise<unknown> => {
      const { contract } = (await (await fetch(`${live.admin}/contract`)).json()) as ContractAnswer
      return contract.operations['market.insights'].response
    }
    await vi.waitFor(async () => expect(await counts()).toMatchObject({ checked: 1, broken: 1, rejected: 0 }), 30_000)
  })

  test('enforced, a response that breaks it is not stored, and one that keeps it is', async () => {
    const upstream = await scripted(bad, good)
    const contract = { file: contractFile(document), response: 'enforce' }
    const { port } = await boot(upstream.url, { ttl: '60s' }, { contract })

    const got = [await call(port), await call(port), await call(port)]

    expect(got.map(({ status }) => status)).toEqual([502, 200, 200])
    expect(got.slice(1).map(statusOf)).toEqual([stored, hit])
    expect(upstream.requests).toHaveLength(2)
  })
})

test.skipIf(program.missing)('with Redis another gateway finds it, and for no longer than ttl says', async () => {
  const redis = await startRedis(program.path ?? '')
  try {
    const upstream = await scripted({ fields: ['Age', '20'] })
    const cache = { redis: { url: redis.url, timeout: '1s' } }
    const gateways = [await boot(upstream.url, undefined, { cache }), await boot(upstream.url, undefined, { cache })]
    for (const { line } of gateways) await line(({ msg }) => msg === 'cache is shared')
    const [one, other] = gateways.map(({ port }) => port) as [number, number]
    const fields = ['Host', 'gateway.example']

    const first = await call(one, { fields })
    await vi.waitFor(async () => {
      expect(statusOf(await call(other, { fields }))).toMatch(/^hit;ttl=([1-3]?\d|40)$/)
    }, 30_000)

    expect(statusOf(first)).toMatch(/^fwd=uri-miss;stored;ttl=(40|[1-3]?\d)$/)
  } finally {
    await redis.kill()
  }
})
