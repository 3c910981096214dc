/** The findings about the contract, on the counts of a process and a fake clock. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Violation } from '../../../src/core/exchange/failures/errors.ts'
import { upstreamError } from '../../../src/features/contract/check/check-message.ts'
import { createDriftCounts } from '../../../src/features/contract/drift-counts.ts'
import { cause, findingInputs, renderFindings, endpoint as up } from '../../core/admin/findings/finding-inputs.ts'
import { contractFile } from '../../helpers/contract.ts'

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-11-23T10:04:00Z') }))
afterEach(() => vi.useRealTimers())

const minute = 60_000
const endpoint = 'http://valuation-a:8080'
const command = 'lender-gateway contract report'
const grade: Violation = { pointer: '/grade', in: 'body', rule: 'enum', detail: 'must be one of A, B' }
const example = { client: '203.0.113.7', endpoint, requestId: 'what-a-client-wrote' }

type Direction = 'request' | 'response'

const createDrift = () => {
  const counts = createDriftCounts('a')
  return {
    counts,
    messages: (direction: Direction, kept: number, broken: number, violation = grade): void => {
      for (let n = 0; n < kept; n++)
        counts.countKept('valuation.score', direction, direction === 'response' ? endpoint : null)
      for (let n = 0; n < broken; n++) counts.countBroken('valuation.score', direction, [violation], false, example)
    },
    findings: (modes: object = {}, more: object = {}) =>
      renderFindings(
        findingInputs({
          ...{ at: Date.now(), settings: { contract: { file: contractFile(), ...modes } } },
          ...{ report: { drift: counts.report }, ...more },
        }),
      ),
  }
}
const enforced = { request: 'enforce', response: 'enforce' }

test('responses that break the contract are named with their share, the endpoint, the place and the rule', () => {
  const { messages, findings } = createDrift()
  messages('response', 97, 3)

  const share = '3 % of the responses of http://valuation-a:8080 break the contract since 10:04:00 (3 of 100'
  expect(findings()).toEqual([
    {
      ...{ severity: 'warning', about: 'operations.valuation.score', alsoAbout: [], details: [], command },
      ...{ cause: `${share} in the last 5 minutes): /grade enum`, since: '2026-11-23T10:04:00.000Z' },
    },
  ])
})

test('requests that break the contract are a notice, without any text of a client', () => {
  const { messages, findings } = createDrift()
  messages('request', 0, 9)
  const [finding] = findings()

  const share = '100 % of the requests break the contract since 10:04:00 (9 of 9 in the last 5 minutes)'
  expect(finding).toMatchObject({ severity: 'notice', cause: `${share}: /grade enum; the last one from 203.0.113.7` })
  expect(JSON.stringify(finding)).not.toContain('what-a-client-wrote')
})

test.each<[Direction, string, number, string, RegExp]>([
  ['response', 'enforce', 1, 'critical', /since 10:04:00, and clients get 502 \(4 of 400/],
  ['response', 'report', 100, 'warning', /since 10:04:00 \(400 of 400/],
  ['request', 'enforce', 40, 'notice', /since 10:04:00, and are rejected \(160 of 400/],
  ['request', 'enforce', 50, 'warning', /rejected/],
  ['request', 'report', 100, 'notice', /since 10:04:00 \(400 of 400/],
])('of %ss, mode %s, a share of %i in 100 is: %s', (direction, mode, share, severity, told) => {
  const { messages, findings } = createDrift()
  messages(direction, 4 * (100 - share), 4 * share)

  expect(findings({ [direction]: mode })).toMatchObject([{ severity, cause: expect.stringMatching(told) }])
})

test('violations of the contract are one finding, with none for the endpoint or for clients', () => {
  const { messages, findings } = createDrift()
  messages('request', 0, 4)
  messages('response', 0, 4)
  const failed = { operation: 'valuation.score', reason: null, firstAt: Date.now(), lastAt: Date.now() } as const

  const found = findings(enforced, {
    upstreams: { valuation: { endpoints: [up({ url: endpoint })] } },
    causes: [
      cause({ ...failed, kind: 'invalid-response', endpoint }),
      cause({ ...failed, kind: 'invalid-request', endpoint: null }),
      cause({ ...failed, kind: 'unsupported-media-type', endpoint: null }),
      cause({ ...failed, kind: 'content-too-large', reason: 'contract-body-too-large', endpoint: null }),
    ],
  })

  const one = { about: 'operations.valuation.score', command }
  expect(found.map(({ about, command }) => ({ about, command }))).toEqual([one, one])
})

test('several places are named, the most frequent first, and the rest is a number', () => {
  const { messages, findings } = createDrift()
  messages('response', 0, 2, { ...grade, pointer: '/parts/0/id', rule: 'type' })
  messages('response', 0, 4, { ...grade, pointer: '', in: 'status', rule: 'status' })
  messages('response', 0, 3, { ...grade, in: 'header', pointer: '/x-grade', rule: 'required' })
  messages('response', 0, 1)

  expect(findings()[0]?.cause).toMatch(/: status status, header \/x-grade required, \/parts\/\*\/id type and 1 more$/)
})

test('a 5xx that the contract does not name is reported as a failure of the upstream', () => {
  const { messages, findings } = createDrift()
  messages('response', 0, 4, upstreamError)

  expect(findings()[0]?.cause).toMatch(
    /^100 % of the responses of \S+ are 5xx, which the contract does not name \(add default or 5XX\) since /,
  )
})

describe('a finding', () => {
  test('fewer than three violations, or none for a minute, are a notice', () => {
    const [few, quiet] = [createDrift(), createDrift()]
    few.messages('response', 0, 2)
    quiet.messages('response', 0, 5)
    expect([few, quiet].map(({ findings }) => findings()[0]?.severity)).toEqual(['notice', 'warning'])

    vi.advanceTimersByTime(minute)

    const cause = expect.stringContaining('(5 of 5 in the last 5 minutes, none since 10:04:00)')
    expect(quiet.findings()).toMatchObject([{ severity: 'notice', cause }])
  })

  test('a finding of the contract ends five minutes after the last violation, and the rows stay', () => {
    const { counts, messages, findings } = createDrift()
    messages('response', 0, 5)
    vi.advanceTimersByTime(5 * minute)
    messages('response', 5, 0)

    expect([findings(), counts.report.rows.length]).toEqual([[], 1])
  })

  test('a finding of the contract names current violations alone', () => {
    const { messages, findings } = createDrift()
    messages('response', 0, 50)
    vi.advanceTimersByTime(6 * minute)
    messages('response', 0, 3, { ...grade, pointer: '/score', rule: 'type' })

    const cause = expect.stringMatching(/since 10:10:00 \(3 of 3 .*\): \/score type$/)
    expect(findings()).toMatchObject([{ cause }])
  })

  test('an operation that is no longer checked has no finding of the contract', () => {
    const { messages, findings } = createDrift()
    messages('response', 0, 5)

    expect(findings({ response: 'off' })).toEqual([])
  })
})
