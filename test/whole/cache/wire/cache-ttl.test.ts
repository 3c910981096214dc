/** `cache.ttl` beside what else decides on a stored response: validation, a candidate, the contract. */
import { describe, expect, test, vi } from 'vitest'
import { clientBucket } from '../../../../src/features/candidate/layers/side.ts'
import { sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues, type WireResponse } from '../../../helpers/wire.ts'

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

test('a response that says nothing of its freshness is stored for as long as ttl says, and its client sees no lifetime', async () => {
  const upstream = await scripted({})
  const { port } = await boot(upstream.url)

  const got = [await call(port), await call(port)]

  expect(got.map(statusOf)).toEqual([stored, hit])
  expect(got.map(({ fields }) => fieldValues(fields, 'cache-control'))).toEqual([[], []])
  expect(upstream.requests).toHaveLength(1)
})

test('one that has come to the end of ttl is validated, and a 304 without a lifetime gives it ttl anew', async () => {
  const old = { fields: ['ETag', '"a"', 'Age', '61'] }
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
