import { describe, expect, test } from 'vitest'
import type { Exchange, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { type FailureKind, failureTable } from '../../../../src/core/exchange/failures/failure-table.ts'
import { type EndpointSelector, failover } from '../../../../src/core/upstream/balancing/endpoint-selector.ts'
import type { GroupEndpoint } from '../../../../src/core/upstream/endpoints/group-endpoint.ts'
import { attemptRecord, fakeExchange, fakeResponse } from '../../../helpers/exchange.ts'

type Step = FailureKind | 'response'

/** Creates members that behave as scripted, one after the other, and records which were tried. */
const members = (...steps: readonly Step[]) => {
  const tried: number[] = []
  const all = steps.map((step, i) => ({
    name: `${i}`,
    send: async (exchange: Exchange): Promise<ProxyResponse> => {
      tried.push(i)
      exchange.attempts.last = attemptRecord({ endpoint: `${i}`, endedAt: 0, previous: exchange.attempts.last })
      if (step === 'response') return fakeResponse()
      throw new GatewayError(step)
    },
  })) as unknown as readonly GroupEndpoint[]
  const selectEndpoint: EndpointSelector = (last, untriedOnly) => {
    const already: string[] = []
    for (let each = last; each !== null; each = each.previous) already.push(each.endpoint)
    return all.find(({ name }) => !already.includes(name)) ?? (untriedOnly ? null : (all[0] ?? null))
  }
  return { tried, send: failover(selectEndpoint, () => new GatewayError('no-healthy-endpoint')) }
}

const outcome = (
  send: (exchange: Exchange) => Promise<ProxyResponse>,
  exchange = fakeExchange(),
): Promise<number | FailureKind> =>
  send(exchange).then(
    ({ status }) => status,
    ({ kind }: GatewayError) => kind,
  )

const kinds = Object.entries(failureTable).filter(([, { fault }]) => fault === 'upstream')
const unsent = kinds.filter(([, { retry }]) => retry === 'always').map(([kind]) => kind as FailureKind)
const others = kinds.filter(([, { retry }]) => retry !== 'always').map(([kind]) => kind as FailureKind)

describe.each(['market.insights', 'valuation.score'] as const)('of %s', (operation) => {
  test.each(unsent)('a request that failed with %s goes to another, each once', async (kind) => {
    const { send, tried } = members(kind, kind, 'response', 'response')

    expect(await outcome(send, fakeExchange({ operation }))).toBe(200)
    expect(tried).toEqual([0, 1, 2])
  })

  test.each(others)('a request that failed with %s does not', async (kind) => {
    const { send, tried } = members(kind, 'response')

    expect(await outcome(send, fakeExchange({ operation }))).toBe(kind)
    expect(tried).toEqual([0])
  })
})

test('when all have failed the last failure is the outcome', async () => {
  const { send, tried } = members('connect-failed', 'connect-timeout', 'tls-failed')

  expect(await outcome(send)).toBe('tls-failed')
  expect(tried).toEqual([0, 1, 2])
})

test('an exchange that is sent again goes to one that it has not tried while there is one', async () => {
  const { send, tried } = members('reset-before-headers', 'connect-failed', 'bad-answer', 'response')
  const exchange = fakeExchange()

  const outcomes = [await outcome(send, exchange), await outcome(send, exchange), await outcome(send, exchange)]

  expect(outcomes).toEqual(['reset-before-headers', 'bad-answer', 200])
  expect(tried).toEqual([0, 1, 2, 3])
  expect(await outcome(send, exchange)).toBe('reset-before-headers')
})

test('without an endpoint it fails as configured', async () => {
  expect(await outcome(members().send)).toBe('no-healthy-endpoint')
})

test('an exchange that has ended meanwhile goes to no other', async () => {
  const { send, tried } = members('connect-failed', 'response')
  const exchange = fakeExchange()
  exchange.abort(new GatewayError('deadline-exceeded'))

  expect(await outcome(send, exchange)).toBe('connect-failed')
  expect(tried).toEqual([0])
})
