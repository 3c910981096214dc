import type {
  AdminReport,
  FindClients,
  OverviewInputs,
  PlacedFindings,
  PlacedMetrics,
  PlacedOverview,
} from '../../core/admin/admin-part.ts'
import { addUp, type MetricDefinitions, seriesFor, seriesOfCounts } from '../../core/admin/metrics/metric.ts'
import type { MetricInputs } from '../../core/admin/metrics/metric-inputs.ts'
import { commandLine } from '../../core/lib/program.ts'
import { asList, asMap, asNullable, asText } from '../../core/lib/text/decode.ts'
import { derived } from '../../core/runtime/status/field.ts'
import { allOperations, type Group, groups, type OperationId, sides } from '../../operations.ts'
import { findCandidateClients, findPrimaryClients, isTakenBack } from './candidate-clients.ts'
import { candidateFindings, comparisonFindings } from './findings.ts'
import { copiesOf } from './layers/shadow.ts'
import type { ShadowReport } from './layers/shadow-copies.ts'
import { zeroDifferences, zeroUncompared } from './observe/compare/comparison.ts'
import type { ComparisonTotals } from './observe/comparison-report.ts'
import { comparisonViews, getShadowReport } from './status/candidate-status.ts'
import { type ComparisonView, comparisonShape } from './status/describe-comparison.ts'

export const reports: readonly AdminReport[] = [{ before: 'config', path: '/shadow', respond: getShadowReport }]

export const findings: readonly PlacedFindings[] = [
  { after: 'upstreams', value: candidateFindings },
  { after: 'upstreams', value: comparisonFindings },
]

export const findClients: FindClients = (group, config, overrides) => {
  const { candidate } = config.upstreams[group]
  const shift = overrides.shifts?.get(group)
  return { primary: findPrimaryClients(candidate, shift), others: findCandidateClients(candidate, shift) }
}

declare module '../../core/admin/admin-part.ts' {
  interface Overview {
    /** By group: the command that prints the file with the candidate as the upstream. Null: from an earlier version. */
    readonly promoteCommands: Readonly<Record<string, string>> | null
    /** Each with the ten worst differences. */
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
    after: 'refusals',
    key: 'comparisons',
    field: derived(asList(comparisonShape), ({ report }: OverviewInputs) => comparisonViews(report, maxRowViews)),
  },
]

// /shadow has all rows.
const maxRowViews = 10

const listShadows = ({ report: { upstreams } }: MetricInputs): readonly (readonly [Group, ShadowReport])[] =>
  groups.flatMap((group) => {
    const shadow = upstreams[group].candidate?.shadow
    return shadow ? [[group, shadow] as const] : []
  })

const countsOf = seriesOfCounts('group', listShadows)
const perGroup = seriesFor(['group'], listShadows)

type Counted = Pick<ComparisonTotals, 'compared' | 'equal' | 'byKind' | 'uncompared'>

const nothingCompared: Counted = { compared: 0, equal: 0, byKind: zeroDifferences, uncompared: zeroUncompared }

const listCompared = ({ config, report }: MetricInputs): readonly (readonly [OperationId, Counted])[] =>
  allOperations.flatMap((operation): readonly (readonly [OperationId, Counted])[] => {
    const { id, group } = operation
    const comparison = report.upstreams[group].candidate?.comparison
    const shadow = config.upstreams[group].candidate?.shadow
    if (!comparison || !shadow || copiesOf(operation, shadow) === null) return []
    return [[id, comparison.totals.find((totals) => totals.operation === id) ?? nothingCompared]]
  })

const countsOfCompared = seriesOfCounts('operation', listCompared)

type OfOperation = readonly [string, MetricInputs['requestMetrics']['operations']['none']]

const sided = ({ config, requestMetrics }: MetricInputs): readonly OfOperation[] =>
  allOperations.flatMap(({ id, group }): readonly OfOperation[] =>
    config.upstreams[group].candidate === null ? [] : [[id, requestMetrics.operations[id]]],
  )

const bySide = seriesFor(['operation', 'side', 'status_class'], (inputs) =>
  sided(inputs).flatMap(([operation, counted]) =>
    sides.flatMap((side) => {
      const expected = [2, 3, 4, 5].map((statusClass) => ({ side, statusClass, count: 0 }))
      const seen = counted.sides.filter((each) => each.side === side)
      return addUp(
        [...expected, ...seen].map(({ statusClass, count }) => [operation, side, `${statusClass}xx`, count] as const),
      )
    }),
  ),
)

const shifted = seriesFor(['group'], ({ overrides }) => overrides.shifts?.all ?? [])

/** No series without copies, without a comparison, or without a candidate. */
const candidateMetrics: MetricDefinitions = {
  shadow_copies_total: perGroup.counter('Copies of requests that were sent to a candidate.', 'sent'),
  shadow_repeats_total: perGroup.counter(
    'Requests that were sent to the primary once more, so that its noise is learnt.',
    'repeated',
  ),
  shadow_copies_in_flight: perGroup.gauge('Copies that are under way.', 'underWay'),
  shadow_answers_total: countsOf('outcome', ({ outcomes }) => outcomes).counter(
    'Answers of a candidate to copies, by the class of their status; failed: there was no whole answer.',
  ),
  shadow_dropped_total: countsOf('reason', ({ dropped }) => dropped).counter(
    'Requests that were to be copied and were not, by what was in the way.',
  ),
  shadow_compared_total: countsOfCompared('result', ({ compared, equal }) => ({
    equal,
    different: compared - equal,
  })).counter('Answers of a candidate that were compared with those of the primary, by what came of it.'),
  shadow_differences_total: countsOfCompared('kind', ({ byKind }) => byKind).counter(
    'Answers of a candidate that differ, by how; one that differs in several ways counts for each.',
  ),
  shadow_uncompared_total: countsOfCompared('reason', ({ uncompared }) => uncompared).counter(
    'Answers of a candidate that were not compared, by why.',
  ),
  side_requests_total: bySide.counter(
    'Requests while a candidate is in use, by the side that their client is on, and by the class of their status.',
  ),
  candidate_fallbacks_total: seriesFor(['operation'], sided).counter(
    'Requests of clients on the candidate that the primary served.',
    'fallbacks',
  ),
  candidate_share: shifted.gauge(
    'Part of the clients that are on the candidate just now, from 0 to 1, those that the file names aside.',
    'share',
  ),
  candidate_taken_back: shifted.gauge(
    'Whether the guard has taken the candidate back (1), and no operator and no edit has said otherwise since.',
    isTakenBack,
  ),
}

export const metrics: readonly PlacedMetrics[] = [{ after: 'upstreams', value: candidateMetrics }]

export const loadOpenApi = () => import('./openapi.ts')

export const loadPage = () => import('./page.ts')
