import { expect } from 'vitest'
import type { FindingInputs, RecentTraffic } from '../../../../src/core/admin/findings/finding-inputs.ts'
import type { EndpointReport } from '../../../../src/core/runtime/status/endpoint.ts'
import { byOperation, type OperationId } from '../../../../src/operations.ts'
import { at, endpoint, findingInputs, renderFindings, risk } from '../../../core/admin/findings/finding-inputs.ts'

/** What a test overrides of a healthy gateway. */
export type Inputs = NonNullable<Parameters<typeof findingInputs>[0]>

/** Overrides of a healthy gateway, and the findings: one line each. */
export type Row = [what: string, inputs: Inputs, ...findings: (string | RegExp)[]]

/** The findings of a gateway with these overrides, as /status shows them. */
export const found = (inputs: Inputs = {}) => renderFindings(findingInputs(inputs))

/** Severity, subject, start (time of day) and cause. */
export const lines = (inputs: Inputs) =>
  found(inputs).map(({ severity, about, since, cause }) =>
    [severity, about, ...(since === null ? [] : [since.slice(11, 19)]), cause].join(' '),
  )

export const expectFindings = (_: string, inputs: Inputs, ...findings: readonly (string | RegExp)[]) =>
  expect(lines(inputs)).toEqual(findings.map((each) => (typeof each === 'string' ? each : expect.stringMatching(each))))

export const riskOf = (...endpoints: readonly EndpointReport[]) => ({ upstreams: { risk: { endpoints } } })
export const asset = 'risk.asset-valuation'
export const explain = 'explain POST /risk/asset-valuation --live'
export const tryIt = 'check --online gateway.yaml'

/** An edit of gateway.yaml that was rejected. */
export const edit = (rejection: Partial<NonNullable<FindingInputs['file']['rejection']>> = {}, more: object = {}) => {
  const whole = {
    at,
    since: at,
    trigger: 'file',
    problems: [],
    isFileSound: false,
    areWorkersSilent: false,
    ...rejection,
  }
  const file = { name: 'gateway.yaml', differing: ['gateway.yaml'], rolledBack: false, nextTryAt: null, ...more }
  return { file: { ...file, rejection: whole } as FindingInputs['file'] }
}
/** A file that differs from the running configuration, of which nothing was rejected. */
export const edited = { file: { ...edit().file, rejection: null } }

/** The last minute of an operation: 40 requests unless a test says otherwise. */
export const trafficOf = (id: OperationId, more: Partial<RecentTraffic>) => ({
  recent: {
    ...byOperation(() => ({ requests: 0, passedOn: 0, storedErrors: 0 })),
    [id]: { requests: 40, passedOn: 0, storedErrors: 0, ...more },
  },
})

/** An endpoint of risk beside risk-a that is well. */
export const other = endpoint({ url: 'http://risk-b:8080' })

export const rejectedAt = (when: number, url = risk) =>
  ({ at: when, endpoint: url, kind: 'connect-failed', reason: 'refused', status: null }) as const
export const expiredAt = (url = risk) =>
  ({ ...rejectedAt(at, url), kind: 'tls-failed', reason: 'certificate-expired' }) as const
export const responded = (status: number, when = at) =>
  ({ at: when, endpoint: risk, kind: null, reason: null, status }) as const

export const failing = (since: number, more: Partial<EndpointReport> = {}) => {
  const reason = '9 failures in a row, the last: the endpoint refuses connections (ECONNREFUSED)'
  return endpoint({
    state: { name: 'failing', since, reason },
    ...{ requests: 40, failures: 9, ejections: 0 },
    succeededAt: since - 50,
    failingSince: since,
    lastFailure: rejectedAt(at - 80),
    ...more,
  })
}

export const down = (reason: string, more: Partial<EndpointReport> = {}) =>
  endpoint({ state: { name: 'down', since: at, reason }, ...more })

export const day = 86_400_000
