import { describe, expect, test } from 'vitest'
import type { IdempotencyReport } from '../../../src/features/idempotency/status.ts'
import { at, cause, findingInputs, renderFindings } from '../../core/admin/findings/finding-inputs.ts'

const report = (more: Partial<IdempotencyReport> = {}): IdempotencyReport => ({
  ...{ store: 'memory', state: 'local', since: at - 3_600_000, reason: null, where: null },
  ...{ entries: 40, maxEntries: 100, bytes: 0, maxBytes: 100, inProgress: 0 },
  ...{ unknown: 0, oldestUnknown: null, dropped: 0, rejected: 0 },
  ...more,
})

const findingsOf = (
  more: Partial<IdempotencyReport>,
  policy: object = {},
  causes: Parameters<typeof cause>[0][] = [],
) =>
  renderFindings(
    findingInputs({
      settings: { operations: { 'financing.pre-approval': { idempotency: policy } } },
      report: { idempotency: report(more) },
      causes: causes.map(cause),
    }),
  )

const operation = 'financing.pre-approval'
const rejected = { kind: 'idempotency-unavailable', reason: null, operation, endpoint: null } as const
const explain = 'lender-gateway explain POST /financing/pre-approval --live'

test('a store with room and few unknown outcomes is fine', () => {
  expect(findingsOf({})).toEqual([])
  expect(findingsOf({ entries: 99, unknown: 9, oldestUnknown: at - 14 * 60_000 })).toEqual([])
})

describe('unknown outcomes', () => {
  test('that are many are a warning', () => {
    expect(findingsOf({ unknown: 10, oldestUnknown: at - 41_000 })).toEqual([
      {
        ...{ severity: 'warning', about: 'idempotency', alsoAbout: [], details: [] },
        cause:
          'the outcome of 10 requests with a key is unknown, the oldest since 02:03:19: repetitions get 409 (onUnknown: reject) until an operator asks the upstream and forgets the key',
        ...{ since: '2026-11-21T02:03:19.000Z', command: explain },
      },
    ])
  })

  test('that are old get a notice', () => {
    expect(findingsOf({ unknown: 1, oldestUnknown: at - 15 * 60_000 })).toMatchObject([
      { severity: 'notice', cause: expect.stringMatching(/^the outcome of 1 request with a key is unknown/) },
    ])
  })

  test('are resolved by repetitions where the upstream recognizes keys', () => {
    expect(findingsOf({ unknown: 100, oldestUnknown: at }, { onUnknown: 'forward' })).toEqual([])
  })
})

describe('a store', () => {
  test('that is full rejects new keys, or forwards them unprotected', () => {
    const full = 'the memory of idempotency keys is full (100, idempotency.maxEntries)'

    expect(findingsOf({ entries: 100 }, {}, [rejected])).toMatchObject([
      {
        ...{ severity: 'critical', about: 'idempotency', command: explain },
        cause: `${full}: requests with a new key are rejected (onStoreFailure: reject): 12 requests were rejected in the last minute`,
      },
    ])
    expect(findingsOf({ entries: 100 }, { onStoreFailure: 'pass' })).toMatchObject([
      {
        severity: 'warning',
        cause: `${full}: requests with a new key are forwarded unprotected (onStoreFailure: pass)`,
      },
    ])
  })

  test('that is unavailable is named with the reason, the time and the workers', () => {
    const gone = { store: 'redis', state: 'unavailable', since: at - 41_000, entries: null, maxEntries: null } as const
    const why = { reason: 'connect ECONNREFUSED', where: 'in 1 of 2 workers' }

    expect(findingsOf({ ...gone, ...why })).toMatchObject([
      {
        severity: 'critical',
        cause:
          'idempotency keys cannot be looked up in 1 of 2 workers (connect ECONNREFUSED): requests with a new key are rejected (onStoreFailure: reject)',
        since: '2026-11-21T02:03:19.000Z',
        command: 'lender-gateway check --online gateway.yaml',
      },
    ])
  })

  test('that is available again is named while its rejections are recent', () => {
    expect(findingsOf({}, {}, [{ ...rejected, lastMinute: 0 }])).toMatchObject([
      {
        severity: 'notice',
        cause:
          'idempotency keys could not be stored for a while: 12 requests were rejected in the last 15 minutes, none in the last minute',
      },
    ])
  })
})
