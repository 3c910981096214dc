/** The findings about the contract, on the counts of a process and a fake clock. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Violation } from '../../../src/core/exchange/failures/errors.ts'
import { upstreamError } from '../../../src/features/contract/check/check-message.ts'
import { createDriftCounts, type DriftCounts } from '../../../src/features/contract/drift-counts.ts'
import { cause, findingInputs, renderFindings, endpoint as up } from '../../core/admin/findings/finding-inputs.ts'
import { contractFile } from '../../helpers/contract.ts'

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-11-23T10:04:00Z') }))
afterEach(() => vi.useRealTimers())

const minute = 60_000
const endpoint = 'http://valuation-a:8080'

const grade: Violation = { pointer: '/grade', in: 'body', rule: 'enum', detail: 'must be one of A, B' }

const messages = (
  counts: DriftCounts,
  direction: 'request' | 'response',
  kept: number,
  broken: number,
  rule = grade,
) => {
  for (let n = 0; n < kept; n++)
    counts.countKept('valuation.score', direction, direction === 'response' ? endpoint : null)
  for (let n = 0; n < broken; n++)
    counts.countBroken('valuation.score', direction, [rule], false, {
      client: '203.0.113.7',
      endpoint,
      requestId: 'what-a-client-wrote',
    })
}

const findingsOf = (counts: DriftCounts, modes: object = {}) =>
  renderFindings(
    findingInputs({
      at: Date.now(),
      settings: { contract: { file: contractFile(), ...modes } },
      report: { drift: counts.report },
    }),
  )

test('responses that break the contract are named with their share, the endpoint, the place and the rule', () => {
  const counts = createDriftCounts('a')
  messages(counts, 'response', 97, 3)

  expect(findingsOf(counts)).toEqual([
    {
      severity: 'warning',
      about: 'operations.valuation.score',
      cause:
        '3 % of the responses of http://valuation-a:8080 break the contract since 10:04:00 (3 of 100 in the last 5 minutes): /grade enum',
      alsoAbout: [],
      details: [],
      since: '2026-11-23T10:04:00.000Z',
      command: 'lender-gateway contract report',
    },
  ])
})

test('requests that break it are worth knowing, and nothing that a client wrote is said of them', () => {
  const counts = createDriftCounts('a')
  messages(counts, 'request', 0, 9)

  const [finding] = findingsOf(counts)

  expect(finding).toMatchObject({
    severity: 'notice',
    cause:
      '100 % of the requests break the contract since 10:04:00 (9 of 9 in the last 5 minutes): /grade enum; the last one of 203.0.113.7',
  })
  expect(JSON.stringify(finding)).not.toContain('what-a-client-wrote')
})

test('what is rejected is said so', () => {
  const counts = createDriftCounts('a')
  messages(counts, 'request', 5, 5)
  messages(counts, 'response', 5, 5)

  const causes = findingsOf(counts, { request: 'enforce', response: 'enforce' }).map(({ cause }) => cause)

  expect(causes).toEqual([
    expect.stringContaining('break the contract since 10:04:00, and clients get 502 (5 of 10'),
    expect.stringContaining('break the contract since 10:04:00, and are rejected (5 of 10'),
  ])
})

test.each([
  ['response', 'enforce', 1, 'critical'],
  ['response', 'report', 100, 'warning'],
  ['request', 'enforce', 40, 'notice'],
  ['request', 'enforce', 50, 'warning'],
  ['request', 'report', 100, 'notice'],
] as const)('of %ss, mode %s, a share of %i in 100 is: %s', (direction, mode, share, severity) => {
  const counts = createDriftCounts('a')
  messages(counts, direction, 4 * (100 - share), 4 * share)

  expect(findingsOf(counts, { [direction]: mode })[0]?.severity).toBe(severity)
})

test('what breaks the contract is one finding, not one more of the endpoint or of clients', () => {
  const counts = createDriftCounts('a')
  messages(counts, 'request', 0, 4)
  messages(counts, 'response', 0, 4)
  const failed = { operation: 'valuation.score', reason: null, firstAt: Date.now(), lastAt: Date.now() } as const

  const found = renderFindings(
    findingInputs({
      at: Date.now(),
      settings: { contract: { file: contractFile(), request: 'enforce', response: 'enforce' } },
      report: { drift: counts.report },
      upstreams: { valuation: { endpoints: [up({ url: endpoint })] } },
      causes: [
        cause({ ...failed, kind: 'invalid-response', endpoint }),
        cause({ ...failed, kind: 'invalid-request', endpoint: null }),
        cause({ ...failed, kind: 'unsupported-media-type', endpoint: null }),
        cause({ ...failed, kind: 'content-too-large', reason: 'contract-body-too-large', endpoint: null }),
      ],
    }),
  )

  expect(found.map(({ about, command }) => [about, command])).toEqual([
    ['operations.valuation.score', 'lender-gateway contract report'],
    ['operations.valuation.score', 'lender-gateway contract report'],
  ])
})

test('several places are named, the most frequent first, and the rest is a number', () => {
  const counts = createDriftCounts('a')
  messages(counts, 'response', 0, 2, { ...grade, pointer: '/parts/0/id', rule: 'type' })
  messages(counts, 'response', 0, 4, { ...grade, pointer: '', in: 'status', rule: 'status' })
  messages(counts, 'response', 0, 3, { ...grade, in: 'header', pointer: '/x-grade', rule: 'required' })
  messages(counts, 'response', 0, 1)

  expect(findingsOf(counts)[0]?.cause).toMatch(
    /: status status, header \/x-grade required, \/parts\/\*\/id type and 1 more$/,
  )
})

test('a failure of the upstream that the contract does not name is told as that', () => {
  const counts = createDriftCounts('a')
  messages(counts, 'response', 0, 4, upstreamError)

  expect(findingsOf(counts)[0]?.cause).toMatch(
    /^100 % of the responses of \S+ are 5xx, which the contract does not name \(add default or 5XX\) since /,
  )
})

describe('a finding', () => {
  test('is a notice for fewer than three, and when none has come for a minute', () => {
    const [few, quiet] = [createDriftCounts('a'), createDriftCounts('a')]
    messages(few, 'response', 0, 2)
    messages(quiet, 'response', 0, 5)
    expect([few, quiet].map((counts) => findingsOf(counts)[0]?.severity)).toEqual(['notice', 'warning'])

    vi.advanceTimersByTime(minute)

    expect(findingsOf(quiet)[0]).toMatchObject({
      severity: 'notice',
      cause: expect.stringContaining('(5 of 5 in the last 5 minutes, none since 10:04:00)'),
    })
  })

  test('is gone five minutes after the last message, and the rows stay', () => {
    const counts = createDriftCounts('a')
    messages(counts, 'response', 0, 5)

    vi.advanceTimersByTime(5 * minute)
    messages(counts, 'response', 5, 0)

    expect(findingsOf(counts)).toEqual([])
    expect(counts.report.rows).toHaveLength(1)
  })

  test('names what is broken now, and not what was broken before', () => {
    const counts = createDriftCounts('a')
    messages(counts, 'response', 0, 50)
    vi.advanceTimersByTime(6 * minute)
    messages(counts, 'response', 0, 3, { ...grade, pointer: '/score', rule: 'type' })

    expect(findingsOf(counts).map(({ cause }) => cause)).toEqual([
      expect.stringMatching(/since 10:10:00 \(3 of 3 .*\): \/score type$/),
    ])
  })

  test('is none of an operation that is no longer checked', () => {
    const counts = createDriftCounts('a')
    messages(counts, 'response', 0, 5)

    expect(findingsOf(counts, { response: 'off' })).toEqual([])
  })
})
