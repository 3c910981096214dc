/** `cache.ttl` beside what else decides on a stored response: a candidate, the contract. */
import { describe, expect, test, vi } from 'vitest'
import { clientBucket } from '../../../../src/features/candidate/layers/side.ts'
import { sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues, type WireResponse } from '../../../helpers/wire.ts'

interface ContractAnswer {
  readonly contract: { readonly operations: { readonly 'market.insights': { readonly response: unknown } } }
}

/** Opens an upstream that sends these bodies one after the other, and the last again and again. */
const scripted = (...bodies: readonly string[]) => {
  let at = 0
  return httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end(bodies[Math.min(at++, bodies.length - 1)])
  })
}

const statusOf = ({ fields }: WireResponse): string =>
  fieldValues(fields, 'cache-status').join().replace('lender-gateway;', '')

const stored = expect.stringMatching(/^fwd=uri-miss;stored;ttl=(60|[1-5]?\d)$/)
const hit = expect.stringMatching(/^hit;ttl=(60|[1-5]?\d)$/)

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
  const schema = { type: 'object', required: ['grade'] }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Insights', version: '1.0.0' },
    paths: {
      '/market/insights': {
        get: { responses: { 200: { description: 'insights', content: { 'application/json': { schema } } } } },
      },
    },
  }
  const [bad, good] = ['{"other":"A"}', '{"grade":"A"}']
  const operations = { 'market.insights': { cache: { ttl: '60s' } } }

  test('in report mode a response that breaks it is stored, and counted once', async () => {
    const upstream = await scripted(bad)
    const live = await bootLiveGateway({
      upstream: upstream.url,
      operations,
      contract: { file: contractFile(document), response: 'report' },
    })

    const { port } = live.gateway.address
    const got = [await call(port), await call(port), await call(port)]

    expect(got.map(statusOf)).toEqual([stored, hit, hit])
    const counts = async (): Promise<unknown> => {
      const { contract } = (await (await fetch(`${live.admin}/contract`)).json()) as ContractAnswer
      return contract.operations['market.insights'].response
    }
    await vi.waitFor(async () => expect(await counts()).toMatchObject({ checked: 1, broken: 1, rejected: 0 }), 30_000)
  })

  test('enforced, a response that breaks it is not stored, and one that keeps it is', async () => {
    const upstream = await scripted(bad, good)
    const contract = { file: contractFile(document), response: 'enforce' }
    const { port } = await bootGateway({ upstream: upstream.url, operations, contract })

    const got = [await call(port), await call(port), await call(port)]

    expect(got.map(({ status }) => status)).toEqual([502, 200, 200])
    expect(got.slice(1).map(statusOf)).toEqual([stored, hit])
    expect(upstream.requests).toHaveLength(2)
  })
})
