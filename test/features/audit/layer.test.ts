import { describe, expect, test } from 'vitest'
import { ResponseBodyQueue } from '../../../src/core/exchange/bodies/response-bodies.ts'
import type { ResponseBody } from '../../../src/core/exchange/body.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { digestsOf } from '../../../src/features/audit/audit-line.ts'
import type { AuditConfig } from '../../../src/features/audit/config.ts'
import { auditLayer } from '../../../src/features/audit/runtime.ts'
import { fakeBody, fakeExchange, fakeNext, fakeResponse } from '../../helpers/exchange.ts'
import { sha256 } from './audit-log-place.ts'

const config: AuditConfig = { file: 'stdout', key: 'k'.repeat(32), digests: 'none', onFailure: 'reject', rotate: null }
const auditor = { failing: false, record: () => {} }
const failing = { ...auditor, failing: true }

test.each(['none', 'both'] as const)(
  'while lines cannot be written, an exchange that would leave no record is rejected, with digests: %s',
  async (digests) => {
    const health = { ...auditor }
    const next = fakeNext()
    const handle = auditLayer({ ...config, digests }, health)?.(next)

    await handle?.(fakeExchange())
    health.failing = true

    const rejection = { kind: 'audit-unavailable', status: 503, fields: ['Retry-After', '1'] }
    await expect(handle?.(fakeExchange())).rejects.toMatchObject(rejection)
    expect(next.calls).toBe(1)
  },
)

test('where the gateway goes on without a record, and takes no digest, there is no layer', async () => {
  const exchange = fakeExchange()

  await auditLayer({ ...config, onFailure: 'continue', digests: 'response' }, failing)?.(fakeNext())(exchange)

  expect(digestsOf.get(exchange)).toEqual({ request: null, response: null })
  expect(auditLayer({ ...config, onFailure: 'continue' }, auditor)).toBe(null)
})

describe('the digest of a request', () => {
  const begin = async (length: number | null) => {
    const body = fakeBody(length)
    const exchange = fakeExchange({ body })
    await auditLayer({ ...config, digests: 'request' }, auditor)?.(fakeNext())(exchange)
    return { body, exchange }
  }

  test.each([6, null])('is that of all its chunks (length: %j)', async (length) => {
    const { body, exchange } = await begin(length)

    body.onData?.(Buffer.from('abc'))
    body.onData?.(Buffer.from('def'))
    const before = digestsOf.get(exchange)?.request
    body.onData?.(null)

    expect(before).toBe(null)
    expect(digestsOf.get(exchange)).toEqual({ request: sha256('abcdef'), response: null })
  })

  test('is null where there is no body', async () => {
    const { body, exchange } = await begin(0)

    expect(body.onData).toBe(null)
    expect(digestsOf.get(exchange)).toEqual({ request: null, response: null })
  })
})

describe('the digest of a response', () => {
  const respondWith = async (body: ResponseBody) => {
    const exchange = fakeExchange()
    const next = fakeNext(() => Promise.resolve({ ...fakeResponse(), body }))
    return { exchange, response: await auditLayer({ ...config, digests: 'response' }, auditor)?.(next)(exchange) }
  }
  const source = { pause() {}, resume() {}, cancel() {} }
  const sink = { data: () => true, end() {}, fail() {} }

  test('is that of the whole, taken at once or as it comes', async () => {
    for (const way of ['whole', 'consume'] as const) {
      const queue = new ResponseBodyQueue(source)
      queue.push(Buffer.from('hel'))
      const { exchange, response } = await respondWith(queue)

      if (way === 'consume') response?.body.consume(sink)
      queue.push(Buffer.from('lo'))
      queue.end()
      if (way === 'whole') response?.body.takeBuffered()

      expect(digestsOf.get(exchange)).toEqual({ request: null, response: sha256('hello') })
    }
  })

  test('is null where it breaks off', async () => {
    const queue = new ResponseBodyQueue(source)
    const { exchange, response } = await respondWith(queue)

    response?.body.consume(sink)
    queue.push(Buffer.from('hel'))
    queue.fail(new GatewayError('truncated'))

    expect(digestsOf.get(exchange)).toEqual({ request: null, response: null })
  })
})
