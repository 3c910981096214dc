import type {
  AdminReport,
  FindClients,
  PlacedFindings,
  PlacedMetrics,
  PlacedOverview,
} from '../../core/admin/admin-part.ts'
import type { OverviewInputs } from '../../core/admin/api/overview.ts'
import { commandLine } from '../../core/lib/program.ts'
import { asList, asMap, asNullable, asText } from '../../core/lib/text/decode.ts'
import { derived } from '../../core/runtime/status/field.ts'
import { findCandidateClients, findPrimaryClients } from './candidate-clients.ts'
import { candidateFindings, comparisonFindings } from './findings.ts'
import { candidateMetrics, comparisonMetrics, shadowMetrics } from './metrics.ts'
import { type ComparisonView, comparisonShape } from './status/describe-comparison.ts'
import { comparisonViews, getShadowReport } from './status/shadow-report.ts'

export const reports: readonly AdminReport[] = [{ path: '/shadow', respond: getShadowReport }]

export const findings: readonly PlacedFindings[] = [
  { after: 'upstreams', value: candidateFindings },
  { after: 'upstreams', value: comparisonFindings },
]

export const metrics: readonly PlacedMetrics[] = [
  { after: 'upstreams', value: shadowMetrics },
  { after: 'upstreams', value: comparisonMetrics },
  { after: 'upstreams', value: candidateMetrics },
]

export const findClients: FindClients = (group, config, overrides) => {
  const { candidate } = config.upstreams[group]
  const shift = overrides.shifts?.get(group)
  return { primary: findPrimaryClients(candidate, shift), others: findCandidateClients(candidate, shift) }
}

declare module '../../core/admin/api/overview.ts' {
  interface Overview {
    /** By group: the command that prints the file with the candidate as the upstream. Null: an earlier version. */
    readonly promoteCommands: Readonly<Record<string, string>> | null
    /** How the answers of candidates compare, each with the ten worst ways in which they differ. */
    readonly comparisons: readonly ComparisonView[]
  }
}

export const overview: readonly PlacedOverview[] = [
  {
    after: 'unmatchedPerSecond',
    key: 'promoteCommands',
    field: derived(asNullable(asMap(asText)), ({ status: { upstreams }, context: { formatCommand } }: OverviewInputs) =>
      Object.fromEntries(
        Object.entries(upstreams).flatMap(([group, { candidate }]) =>
          candidate === null ? [] : [[group, formatCommand(commandLine('shift', group, '--promote'))]],
        ),
      ),
    ),
  },
  {
    after: 'clients',
    key: 'comparisons',
    field: derived(asList(comparisonShape), ({ report }: OverviewInputs) => comparisonViews(report, maxRowViews)),
  },
]

// The page shows the worst; /shadow has all.
const maxRowViews = 10
