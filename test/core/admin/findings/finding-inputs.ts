/** Inputs of a healthy gateway, with a test's overrides. */

import { adminParts, findClients } from '../../../../src/core/admin/admin-parts.ts'
import { collectFindings } from '../../../../src/core/admin/api/status.ts'
import { type FindingView, renderFinding } from '../../../../src/core/admin/findings/finding.ts'
import type { FindingInputs } from '../../../../src/core/admin/findings/finding-inputs.ts'
import type { ErrorCount } from '../../../../src/core/log/recent-errors.ts'
import type { OverridesView } from '../../../../src/core/runtime/overrides.ts'
import type { EndpointReport } from '../../../../src/core/runtime/status/endpoint.ts'
import type { StatusReport } from '../../../../src/core/runtime/status/status-part.ts'
import type { UpstreamReport } from '../../../../src/core/runtime/status/upstreams.ts'
import { type Group, groups } from '../../../../src/operations.ts'
import { type Settings, testConfig } from '../../../helpers/gateway.ts'
import { idleInputs, idleOverrides, idleParts, idleReport, idleUpstreamReport } from '../../../helpers/idle-features.ts'

/** The time of the inputs: 2026-11-21T02:04:00Z. */
export const at = Date.UTC(2026, 10, 21, 2, 4)

export const risk = 'http://risk-a:8080'

export const endpoint = (more: Partial<EndpointReport> = {}): EndpointReport => ({
  ...{ url: risk, weight: 100, pending: 0, inFlight: 0, state: { name: 'up', since: null, reason: null } },
  lastProbe: null,
  ...{ requests: 40, failures: 0, ejections: 0 },
  ...{ countedSince: at - 7_200_000, lastFailure: null, outdated: null, succeededAt: at - 10_000, failingSince: null },
  ...{ failuresInARow: 0, onProbation: false, certificates: [], ejectedForMs: null, latencyMs: 5 },
  recentResponses: { requests: 0, clientErrors: 0 },
  ...more,
})

const well: UpstreamReport = { balance: 'p2c', breaker: null, endpoints: [endpoint()], ...idleUpstreamReport }

/** Twelve failures in the last minute, at the endpoint of risk. */
export const cause = (more: Partial<ErrorCount> = {}): ErrorCount => ({
  ...{ operation: 'risk.asset-valuation', kind: 'connect-failed', reason: 'refused', endpoint: risk, detail: null },
  ...{ lastMinute: 12, last15Min: 12, firstAt: at - 60_000, lastAt: at },
  ...more,
})

interface InputOverrides extends Partial<Omit<FindingInputs, 'report' | 'config'>> {
  readonly settings?: Settings
  readonly report?: Partial<Omit<StatusReport, 'upstreams' | 'recentErrors'>>
  readonly upstreams?: Partial<Record<Group, Partial<UpstreamReport>>>
  readonly causes?: readonly ErrorCount[]
  readonly last?: StatusReport['recentErrors']['last']
}

const nothing = { get: () => null, all: [] }

const wellConfig = testConfig()

/** Renders findings as /status does. */
export const renderFindings = (inputs: FindingInputs): readonly FindingView[] =>
  collectFindings(inputs).map((each) => renderFinding(each, inputs.at))

export const findingInputs = ({
  settings,
  report,
  upstreams = {},
  causes = [],
  last = [],
  ...more
}: InputOverrides = {}): FindingInputs => {
  const own = {
    upstreams: Object.fromEntries(groups.map((group) => [group, { ...well, ...upstreams[group] }])),
    requestMetrics: null,
    recentErrors: { last, causes, total: last.length },
    runtimes: [],
    rejectedConnections: [],
    retiring: 0,
  }
  const whole = { ...own, ...idleReport, ...report } as object as StatusReport
  const overrides: OverridesView = { operations: nothing, endpoints: nothing, ...idleOverrides }
  return {
    ...{ at, config: settings === undefined ? wellConfig : testConfig(settings), loadedAt: at - 86_400_000 },
    undoableEditAt: null,
    file: { name: 'gateway.yaml', differing: [], rolledBack: false, rejection: null, nextTryAt: null },
    ...{ report: whole, recent: null, overrides, parts: idleParts, findingParts: adminParts, findClients },
    ...{ notServing: null, draining: false, droppedLines: 0 },
    ...idleInputs(whole),
    ...more,
  } as FindingInputs
}
