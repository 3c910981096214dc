/** Whom the primary serves when a candidate fails: each group of one gateway has a candidate that fails in its way. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask as askSide } from '../../../helpers/candidate.ts'
import { openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import {
  onRequest,
  openHttpUpstream,
  openRawUpstream,
  type RawUpstream,
  type TestUpstream,
} from '../../../helpers/upstream.ts'
import type { WireRequest } from '../../../helpers/wire.ts'

const nowhere = 'http://127.0.0.1:1'

let primary: TestUpstream
/** Closes each connection once it has read the head of a request. */
let resetting: RawUpstream
let heads = 0
let gateway: TestGateway

beforeAll(async () => {
  primary = await openHttpUpstream((_, response) => void response.end('primary'))
  resetting = await openRawUpstream((socket) =>
    onRequest(socket, () => {
      heads++
      socket.resetAndDestroy()
    }),
  )
  const group = (url: string, more: object = {}) => ({
    endpoints: [primary.url],
    candidate: { endpoints: [url], share: '100%' },
    ...more,
  })
  gateway = await openGateway({
    upstreams: {
      risk: group(nowhere),
      market: group(resetting.url, { retry: { attempts: 3, backoff: { base: '1ms', max: '1ms' } } }),
    },
  })
})
afterAll(async () => {
  await gateway.gateway.close()
  await Promise.all([primary, resetting].map((each) => each.close()))
})

const gotOf = (path: string) => primary.requests.filter(({ url }) => url === path)

const ask = (request: WireRequest) => askSide(gateway.port, request)

const lineOf = (operation: string) => gateway.line((line) => line.msg === 'exchange' && line.operation === operation)

const post: WireRequest = { method: 'POST', target: '/risk/asset-valuation' }

test('a candidate that cannot be connected to has each request served by the primary, and the log says so', async () => {
  expect(await ask({ ...post, body: Buffer.from('abc') })).toBe('200 primary')

  expect(gotOf('/risk/asset-valuation').at(-1)?.body.toString()).toBe('abc')
  expect(await lineOf('risk.asset-valuation')).toMatchObject({
    ...{ status: 200, endpoint: primary.url, side: 'candidate', fellBack: true, attempts: 2 },
    failedAttempts: [{ endpoint: nowhere, failure: 'connect-failed' }],
  })
})

test('the primary serves an upload of unknown length whole when the candidate cannot be connected to', async () => {
  const body = Buffer.alloc(300_000, 'x')
  expect(await ask({ ...post, body, chunkBytes: 10_000 })).toBe('200 primary')

  expect(gotOf('/risk/asset-valuation').at(-1)?.body.equals(body)).toBe(true)
})

test('with retries, a GET that was reset goes to the primary, once', async () => {
  expect(await ask({ target: '/market/insights' })).toBe('200 primary')

  expect([gotOf('/market/insights').length, heads]).toEqual([1, 1])
  expect(await lineOf('market.insights')).toMatchObject({ side: 'candidate', fellBack: true, attempts: 2 })
})
