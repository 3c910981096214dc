/** What the cache does for the two sides of a group. */
import { expect, test } from 'vitest'
import { clientBucket } from '../../../../src/features/candidate/layers/side.ts'
import { sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream, type ReceivedRequest } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

/** Finds an address on one side at a share of a half. */
const addressOn = (isOnCandidate: boolean): string => {
  const addresses = Array.from({ length: 100 }, (_, index) => `192.0.2.${index}`)
  return addresses.find((address) => clientBucket('market', { address }) < 5000 === isOnCandidate) ?? ''
}

const expose = 'X-Upstream-Side'
const [there, here] = [addressOn(true), addressOn(false)]

/** Boots a gateway that caches; half of the clients are on the candidate. */
const bootCachingSides = async (primary: string, candidate: string, own: object = {}, valuation = 'sandbox') => {
  const { upstreams } = withCandidate(primary, candidate, { share: '50%', expose, ...own })
  const { port } = await bootGateway({
    upstreams: { ...upstreams, valuation },
    listen: { trustedProxies: ['127.0.0.1'] },
    operations: { 'market.insights': { cache: true } },
  })
  /** Gets as a client; returns the body and the side that the field names. */
  const get = async (address: string): Promise<string> => {
    const { status, body, fields } = await call(port, { fields: ['X-Forwarded-For', address] })
    return `${status} ${status < 400 ? body : ''} ${fieldValues(fields, expose).join()}`
  }
  return { get, port }
}

const stored = () =>
  sideUpstreams((_, response, name) => {
    response.setHeader('Cache-Control', 'max-age=60')
    response.end(name)
  })

const getsOf = ({ requests }: { readonly requests: readonly ReceivedRequest[] }): number =>
  requests.filter(({ method }) => method === 'GET').length

test('each side has its own stored response', async () => {
  const { primary, candidate } = await stored()
  const { get } = await bootCachingSides(primary.url, candidate.url)
  const responses = [await get(there), await get(here), await get(there), await get(here)]

  expect(responses).toEqual(['200 candidate candidate', '200 primary primary', ...responses.slice(0, 2)])
  expect([getsOf(primary), getsOf(candidate)]).toEqual([1, 1])
})

test('a response of the primary to a client of the candidate is not stored', async () => {
  const { primary } = await stored()
  const { get } = await bootCachingSides(primary.url, 'http://127.0.0.1:1')
  const responses = [await get(there), await get(there), await get(here)]

  expect(responses).toEqual(Array(3).fill('200 primary primary'))
  expect(getsOf(primary)).toBe(3)
})

test('a POST invalidates its resource on both sides', async () => {
  const { primary, candidate } = await stored()
  const valuation = await httpUpstream((_, response) => response.writeHead(201, { Location: '/market/insights' }).end())
  const { get, port } = await bootCachingSides(primary.url, candidate.url, {}, valuation.url)
  const getBoth = async () => [await get(there), await get(here)]

  await getBoth()
  await call(port, { method: 'POST', target: '/valuation/score', body: Buffer.from('{}') })
  await getBoth()

  expect([getsOf(primary), getsOf(candidate)]).toEqual([2, 2])
})

test.each([
  [true, '200 primary primary'],
  [false, '200 candidate candidate'],
])('a candidate that cannot be reached, with fallback: %s', async (fallback, expected) => {
  const { primary, candidate } = await sideUpstreams((_, response, name) => {
    response.writeHead(200, { 'Cache-Control': 'max-age=60, stale-if-error=600', Age: '61' })
    response.end(name)
  })
  const { get } = await bootCachingSides(primary.url, candidate.url, { fallback })
  await get(there)
  await candidate.close()

  expect(await get(there)).toBe(expected)
})
