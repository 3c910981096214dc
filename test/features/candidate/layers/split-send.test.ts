import { describe, expect, test } from 'vitest'
import type { Exchange, Handler } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError, overloadedError } from '../../../../src/core/exchange/failures/errors.ts'
import { failureTable } from '../../../../src/core/exchange/failures/failure-table.ts'
import { type SplitSides, splitSend } from '../../../../src/features/candidate/layers/split-send.ts'
import type { OperationId, Side } from '../../../../src/operations.ts'
import { fakeExchange, fakeNext, fakeResponse } from '../../../helpers/exchange.ts'

const exchangeOn = (side: Side, operation: OperationId = 'market.insights'): Exchange =>
  Object.assign(fakeExchange({ operation }), { side })

/** Fails as an attempt that was made does. */
const failing =
  (error: GatewayError): Handler =>
  (exchange) => {
    exchange.attempts.count++
    exchange.attempts.wasSent ||= failureTable[error.kind].retry !== 'always'
    return Promise.reject(error)
  }

/** Fails before an attempt is made. */
const rejecting =
  (error: GatewayError): Handler =>
  () =>
    Promise.reject(error)

const split = (candidate: Handler, more: Partial<SplitSides> = {}) => {
  const sides = { primary: fakeNext(() => Promise.resolve(fakeResponse(201))), candidate: fakeNext(candidate) }
  return { ...sides, send: splitSend({ ...sides, fallback: true, candidateIsUp: () => true, ...more }) }
}

const responding: Handler = () => Promise.resolve(fakeResponse(200))

describe.each([true, false])('with fallback %s', (fallback) => {
  test('each exchange goes to its own side', async () => {
    const { send, primary, candidate } = split(responding, { fallback })
    const exchanges = [exchangeOn('primary'), exchangeOn('candidate'), fakeExchange()]
    const responses = await Promise.all(exchanges.map(send))

    expect(responses.map(({ status }) => status)).toEqual([201, 200, 201])
    expect([primary.calls, candidate.calls]).toEqual([2, 1])
  })

  test('a request that fails at the primary never goes to the candidate', async () => {
    const failed = new GatewayError('connect-failed')
    const { send, candidate } = split(responding, { fallback, primary: failing(failed) })
    await expect(send(exchangeOn('primary'))).rejects.toBe(failed)

    expect(candidate.calls).toBe(0)
  })
})

const connectFailed = failing(new GatewayError('connect-failed'))

describe.each<[string, Handler]>([
  ['no endpoint takes requests', rejecting(new GatewayError('no-healthy-endpoint', { reason: 'all-draining' }))],
  ['its breaker is open', rejecting(new GatewayError('circuit-open', { reason: 'breaker-open' }))],
  ['its connections are all in use', rejecting(overloadedError('endpoint-connections'))],
  ['the client has its share of them', rejecting(overloadedError('endpoint-share'))],
  ['it cannot be connected to', connectFailed],
  ['connecting takes too long', failing(new GatewayError('connect-timeout'))],
  ['its certificate is not good', failing(new GatewayError('tls-failed'))],
])('what the candidate could not be sent, since %s', (_, candidate) => {
  test('a request that was not sent to the candidate goes to the primary once, a POST too', async () => {
    for (const operation of ['market.insights', 'risk.asset-valuation'] as const) {
      const { send, primary } = split(candidate)
      const exchange = exchangeOn('candidate', operation)

      await expect(send(exchange)).resolves.toMatchObject({ status: 201 })

      expect([primary.calls, exchange.side, exchange.servingSide]).toEqual([1, 'candidate', 'primary'])
    }
  })

  test('an unsent request fails with fallback: false, and when its exchange has ended', async () => {
    const [without, ended] = [split(candidate, { fallback: false }), split(candidate)]
    const [failed, aborted] = [exchangeOn('candidate'), exchangeOn('candidate')]
    aborted.abort(new GatewayError('client-gone'))

    await expect(without.send(failed)).rejects.toThrow()
    await expect(ended.send(aborted)).rejects.toThrow()

    expect([without.primary.calls, failed.attempts.fellBack, ended.primary.calls]).toEqual([0, false, 0])
  })
})

describe('what the candidate may have been sent', () => {
  test.each<[string, Handler, boolean]>([
    ['reset-before-headers', failing(new GatewayError('reset-before-headers')), false],
    ['headers-timeout', failing(new GatewayError('headers-timeout')), false],
    ['bad-response', failing(new GatewayError('bad-response')), false],
    ['a bug', () => Promise.reject(new TypeError('bug')), false],
    ['a body that came too slowly', rejecting(new GatewayError('request-timeout')), false],
    ['no room to read its response', rejecting(overloadedError('buffered-bodies')), false],
    ['a POST before, though a later attempt finds no connection', connectFailed, true],
  ])('stays there: %s', async (_, candidate, wasSent) => {
    const { send, primary } = split(candidate)
    const exchange = exchangeOn('candidate', 'risk.asset-valuation')
    exchange.attempts.wasSent = wasSent
    await expect(send(exchange)).rejects.toThrow()

    expect([primary.calls, exchange.attempts.fellBack]).toEqual([0, false])
  })

  test('a failed request that the candidate may have processed is an error for the client', async () => {
    const { send, primary } = split(() => Promise.resolve(fakeResponse(500)))
    await expect(send(exchangeOn('candidate'))).resolves.toMatchObject({ status: 500 })

    expect(primary.calls).toBe(0)
  })
})

test.each([
  ['gets nothing: the primary serves its clients', true, false, 201],
  ['gets what it may have had before: a POST that is repeated by its key', true, true, 200],
  ['is tried all the same with fallback: false', false, false, 200],
])('a candidate of which no endpoint is up %s', async (_, fallback, wasSent, status) => {
  const { send, primary, candidate } = split(responding, { candidateIsUp: () => false, fallback })
  const exchange = exchangeOn('candidate', 'risk.asset-valuation')
  exchange.attempts.wasSent = wasSent

  await expect(send(exchange)).resolves.toMatchObject({ status })

  expect([primary.calls, candidate.calls, exchange.attempts.fellBack]).toEqual(
    status === 201 ? [1, 0, true] : [0, 1, false],
  )
})
