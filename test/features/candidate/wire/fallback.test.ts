/** Whom the primary serves when a candidate fails: each group of one gateway has a candidate that fails in its way. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../../helpers/candidate.ts'
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
const retry = { attempts: 3, backoff: { base: '1ms', max: '1ms' } }

let primary: TestUpstream
/** Answers with the status of the moment. */
let candidate: TestUpstream
let status = 500
/** Closes each connection once it has read the head of a request. */
let resetting: RawUpstream
let heads = 0
let silent: RawUpstream
let gateway: TestGateway

beforeAll(async () => {
  primary = await openHttpUpstream((_, response) => void response.end('primary'))
  candidate = await openHttpUpstream((_, response) => void response.writeHead(status).end('candidate'))
  resetting = await openRawUpstream((socket) =>
    onRequest(socket, () => {
      heads++
      socket.resetAndDestroy()
    }),
  )
  silent = await openRawUpstream(() => {})
  const group = (url: string, own: object = {}, more: object = {}) => ({
    endpoints: [primary.url],
    candidate: { endpoints: [url], share: '100%', ...own },
    ...more,
  })
  gateway = await openGateway({
    upstreams: {
      risk: group(nowhere),
      financing: group(nowhere, { fallback: false }),
      inventory: group(silent.url, {}, { timeouts: { headers: '10s' }, retry: {} }),
      leads: group(candidate.url, { circuitBreaker: { minRequests: 2, openFor: '1s', probes: 1 } }),
      compliance: group(nowhere, { healthCheck: { path: '/', interval: '100ms', unhealthyAfter: 1 } }),
      market: group(resetting.url, {}, { retry }),
      analysis: group(resetting.url, { fallback: false }, { retry }),
      valuation: group(resetting.url, {}, { retry }),
    },
    operations: {
      'inventory.sync': { deadline: '300ms' },
      'valuation.score': { idempotency: { onUnknown: 'forward' } },
    },
  })
})
afterAll(async () => {
  await gateway.gateway.close()
  await Promise.all([primary, candidate, resetting, silent].map((each) => each.close()))
})

const post = (target: string, more: WireRequest = {}): WireRequest => ({
  method: 'POST',
  target,
  body: Buffer.from('abc'),
  ...more,
})

/** Asks once; returns the answer, how many requests went to the primary, and how many to what resets. */
const askOnce = async (request: WireRequest) => {
  const before = [primary.begun(), heads] as const
  const answer = await ask(gateway.port, request)
  return { answer, primary: primary.begun() - before[0], resetting: heads - before[1] }
}

const lineOf = (operation: string) => gateway.line((line) => line.msg === 'exchange' && line.operation === operation)

describe('a candidate that cannot be connected to', () => {
  test('has each request served by the primary, without a retry layer, and the log says so', async () => {
    expect(await askOnce(post('/risk/asset-valuation'))).toMatchObject({ answer: '200 primary', primary: 1 })

    expect(primary.requests.at(-1)?.body.toString()).toBe('abc')
    expect(await lineOf('risk.asset-valuation')).toMatchObject({
      status: 200,
      endpoint: primary.url,
      side: 'candidate',
      fellBack: true,
      attempts: 2,
      failedAttempts: [{ endpoint: nowhere, failure: 'connect-failed' }],
    })
  })

  test('has an upload of unknown length served too, whole', async () => {
    const body = Buffer.alloc(300_000, 'x')

    const { answer } = await askOnce(post('/risk/asset-valuation', { body, chunkBytes: 10_000 }))

    expect(answer).toBe('200 primary')
    expect(primary.requests.at(-1)?.body.equals(body)).toBe(true)
  })

  test('fails its clients with fallback: false', async () => {
    expect(await askOnce(post('/financing/pre-approval'))).toMatchObject({ answer: '502 connect-failed', primary: 0 })

    expect(await lineOf('financing.pre-approval')).not.toHaveProperty('fellBack')
  })
})

test('one that does not answer takes no time beyond the deadline: the primary is not tried after it', async () => {
  expect(await askOnce(post('/inventory/sync'))).toMatchObject({ answer: '504 deadline-exceeded', primary: 0 })
})

test('an open breaker sends its clients to the primary, and a half-open one tries the candidate again', async () => {
  const get = () => ask(gateway.port, { target: '/leads/pipeline' })

  expect([await get(), await get(), await get()]).toEqual(['500 candidate', '500 candidate', '200 primary'])
  status = 200
  await expect.poll(get).toBe('200 candidate')
})

test('of a candidate that its probes find down, no client waits for a connection', async () => {
  const get = () => ask(gateway.port, { target: '/compliance/audit-trail' })
  await gateway.line(({ msg, group }) => msg === 'endpoint down' && group === 'compliance')

  expect(await get()).toBe('200 primary')

  const line = await lineOf('compliance.audit-trail')
  expect(line).toMatchObject({ side: 'candidate', fellBack: true, attempts: 1 })
  expect(line).not.toHaveProperty('failedAttempts')
})

describe('with retries', () => {
  test('a GET that was reset goes to the primary, once', async () => {
    const request = { target: '/market/insights' }

    expect(await askOnce(request)).toEqual({ answer: '200 primary', primary: 1, resetting: 1 })
    expect(await lineOf('market.insights')).toMatchObject({ side: 'candidate', fellBack: true, attempts: 2 })
  })

  test('and fallback: false it stays on its side', async () => {
    const request = { target: '/analysis/esg-grant' }

    expect(await askOnce(request)).toEqual({ answer: '502 reset-before-headers', primary: 0, resetting: 3 })
  })

  test('a POST with a key that was reset is repeated at the candidate, not at the primary', async () => {
    const request = post('/valuation/score', { fields: ['Idempotency-Key', 'a'] })

    expect(await askOnce(request)).toEqual({ answer: '502 reset-before-headers', primary: 0, resetting: 3 })
  })
})
