import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { FailureKind } from '../../../src/core/exchange/failures/failure-table.ts'
import type { RetryConfig } from '../../../src/features/retry/config.ts'
import { retryLayer } from '../../../src/features/retry/layer.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { bodies, plenty, retryConfig, scripted } from './helper.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

type Body = keyof typeof bodies

interface Request {
  readonly method: 'GET' | 'POST'
  /** Whether the operation is configured for an upstream that recognises the key. */
  readonly idempotent?: boolean
  readonly fields?: readonly string[]
}

const requests: Readonly<Record<string, Request>> = {
  'a GET': { method: 'GET' },
  'a POST': { method: 'POST' },
  'a POST with a key that the upstream ignores': { method: 'POST', fields: ['Idempotency-Key', 'a'] },
  'a POST without the key of its operation': { method: 'POST', idempotent: true, fields: ['X-Idempotency-Key', 'a'] },
  'a POST with a key': { method: 'POST', idempotent: true, fields: ['X', 'y', 'idempotency-KEY', '"8e03978e"'] },
  'a POST with an empty key': { method: 'POST', idempotent: true, fields: ['Idempotency-Key', ' '] },
  'a POST with two keys': {
    method: 'POST',
    idempotent: true,
    fields: ['Idempotency-Key', 'a', 'Idempotency-Key', 'a'],
  },
  'a POST with a key and its twin': {
    method: 'POST',
    idempotent: true,
    fields: ['Idempotency_key', 'b', 'Idempotency-Key', 'a'],
  },
  'a POST with the twin of a key': { method: 'POST', idempotent: true, fields: ['Idempotency_Key', 'a'] },
}

// The kinds of bodies that allow another attempt.
const unsent: readonly Body[] = ['empty', 'replayable', 'unread']
const sent: Readonly<Record<keyof typeof requests, readonly Body[]>> = {
  'a GET': ['empty', 'replayable'],
  'a POST': [],
  'a POST with a key that the upstream ignores': [],
  'a POST without the key of its operation': [],
  'a POST with a key': ['empty', 'replayable'],
  'a POST with an empty key': [],
  'a POST with two keys': [],
  'a POST with a key and its twin': [],
  'a POST with the twin of a key': [],
}

const whenUnsent: readonly FailureKind[] = ['connect-failed', 'connect-timeout', 'tls-failed']
const whenSent: readonly (FailureKind | number)[] = [
  'reset-before-headers',
  'headers-timeout',
  'bad-answer',
  429,
  500,
  503,
]
const never: readonly FailureKind[] = [
  'deadline-exceeded',
  'overloaded',
  'circuit-open',
  'internal',
  'client-gone',
  'truncated',
]

const rows = Object.keys(requests).flatMap((request) => [
  ...whenUnsent.map((cause) => [request, cause, unsent] as const),
  ...whenSent.map((cause) => [request, cause, sent[request] ?? []] as const),
  ...never.map((cause) => [request, cause, []] as const),
])

test.each(rows)('%s that ends with %s is sent again when its body is one of %j', async (name, cause, again) => {
  const { method, idempotent = false, fields = [] } = requests[name] as Request
  const on = [...whenUnsent, ...whenSent, ...never] as RetryConfig['on']
  const layer = retryLayer(retryConfig({ on }), plenty(), {
    safe: method === 'GET',
    keyField: idempotent ? 'idempotency-key' : null,
  })
  const tried: Body[] = []

  for (const [body, make] of Object.entries(bodies) as [Body, (typeof bodies)[Body]][]) {
    const next = scripted(cause, 200)
    const operation = method === 'GET' ? 'market.insights' : 'valuation.score'
    const ended = layer(next)(fakeExchange({ operation, fields, body: make() })).catch(() => {})
    await vi.runAllTimersAsync()
    await ended
    if (next.calls.length > 1) tried.push(body)
  }

  expect(tried).toEqual(again)
})
