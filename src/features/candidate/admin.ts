import type { FindClients } from '../../core/admin/admin-context.ts'
import type { AdminPart, DescribeOperation, OverviewInputs } from '../../core/admin/admin-part.ts'
import type { MetricInputs } from '../../core/admin/metrics/metric.ts'
import { addUp, type MetricDefinitions, seriesFor, seriesOfCounts } from '../../core/admin/metrics/metric.ts'
import { commandLine } from '../../core/lib/program.ts'
import { asList, asMap, asNullable, asText } from '../../core/lib/text/decode.ts'
import { derived } from '../../core/runtime/status/field.ts'
import { allOperations, groups, sides } from '../../operations.ts'
import { findCandidateClients, findPrimaryClients, isTakenBack } from './candidate-clients.ts'
import { candidateFindings, comparisonFindings } from './findings.ts'
import type { ComparisonTotals } from './observe/comparison-report.ts'
import { copiesOf, zeroDifferences, zeroUncompared } from './observe/shadow-kinds.ts'
import { comparisonViews, getShadowReport } from './status/candidate-status.ts'
import { type ComparisonView, comparisonShape } from './status/describe-comparison.ts'

export const reports: Required<AdminPart>['reports'] = [{ before: 'config', path: '/shadow', respond: getShadowReport }]

export const findings: Required<AdminPart>['findings'] = [
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
    /** Null: an earlier version. */
    readonly promoteCommands: Readonly<Record<string, string>> | null
    readonly comparisons: readonly ComparisonView[]
  }
}

export const overview: Required<AdminPart>['overview'] = [
  {
    after: 'unmatchedPerSecond',
    key: 'promoteCommands',
    field: derived(asNullable(asMap(asText)), ({ status, context }: OverviewInputs) => {
      const withCandidate = Object.keys(status.upstreams).filter((group) => status.upstreams[group]?.candidate)
      const commandOf = (group: string) => context.formatCommand(commandLine('shift', group, '--promote'))
      return Object.fromEntries(withCandidate.map((group) => [group, commandOf(group)]))
    }),
  },
  {
    after: 'rejections',
    key: 'comparisons',
    field: derived(asList(comparisonShape), ({ report }: OverviewInputs) => comparisonViews(report, maxRowViews)),
  },
]

const maxRowViews = 10

const listShadows = ({ report: { upstreams } }: MetricInputs) =>
  groups.flatMap((group) => {
    const shadow = upstreams[group].candidate?.shadow
    return shadow ? [[group, shadow] as const] : []
  })

const countsOf = seriesOfCounts('group', listShadows)
const perGroup = seriesFor(['group'], listShadows)

type Counted = Pick<ComparisonTotals, 'compared' | 'equal' | 'byKind' | 'uncompared'>

const nothingCompared: Counted = { compared: 0, equal: 0, byKind: zeroDifferences, uncompared: zeroUncompared }

const listCompared = ({ config, report }: MetricInputs) =>
  allOperations.flatMap((operation) => {
    const { id, group } = operation
    const comparison = report.upstreams[group].candidate?.comparison
    const shadow = config.upstreams[group].candidate?.shadow
    if (!comparison || !shadow || copiesOf(operation, shadow) === null) return []
    const counted: Counted = comparison.totals.find((totals) => totals.operation === id) ?? nothingCompared
    return [[id, counted] as const]
  })

const countsOfCompared = seriesOfCounts('operation', listCompared)

const sided = ({ config: { upstreams }, requestMetrics: { operations } }: MetricInputs) =>
  allOperations.flatMap(({ id, group }) => (upstreams[group].candidate ? [[id, operations[id]] as const] : []))

const bySide = seriesFor(['operation', 'side', 'status_class'], (inputs) =>
  sided(inputs).flatMap(([operation, counted]) =>
    sides.flatMap((side) => {
      const expected = [2, 3, 4, 5].map((statusClass) => ({ side, statusClass, count: 0 }))
      const all = [...expected, ...counted.sides.filter((each) => each.side === side)]
      return addUp(all.map(({ statusClass, count }) => [operation, side, `${statusClass}xx`, count] as const))
    }),
  ),
)

const shifted = seriesFor(['group'], ({ overrides }) => overrides.shifts?.all ?? [])

const help = {
  repeats: 'Requests sent to the primary a second time to learn its noise.',
  responses: "The candidate's responses to copies by status class; failed: incomplete.",
  dropped: 'Requests that were not copied, by reason.',
  compared: "The candidate's responses that were compared with the primary's.",
  differences: 'Differing responses of the candidate, counted once for each kind of difference.',
  uncompared: "The candidate's responses that were not compared, by reason.",
  sides: "Requests by their client's side, while a candidate is in use.",
  fallbacks: "Requests of the candidate's clients that the primary served.",
  share: 'Share of clients on the candidate, 0 to 1, without those named in the file.',
  takenBack: 'Whether the guard has taken the candidate back (1), until a command or an edit.',
}

const ofResults = countsOfCompared('result', ({ compared, equal }) => ({ equal, different: compared - equal }))

const candidateMetrics: MetricDefinitions = {
  shadow_copies_total: perGroup.counter('Copies of requests sent to the candidate.', 'sent'),
  shadow_repeats_total: perGroup.counter(help.repeats, 'repeated'),
  shadow_copies_in_flight: perGroup.gauge('Copies under way.', 'underWay'),
  shadow_responses_total: countsOf('outcome', ({ outcomes }) => outcomes).counter(help.responses),
  shadow_dropped_total: countsOf('reason', ({ dropped }) => dropped).counter(help.dropped),
  shadow_compared_total: ofResults.counter(help.compared),
  shadow_differences_total: countsOfCompared('kind', ({ byKind }) => byKind).counter(help.differences),
  shadow_uncompared_total: countsOfCompared('reason', ({ uncompared }) => uncompared).counter(help.uncompared),
  side_requests_total: bySide.counter(help.sides),
  candidate_fallbacks_total: seriesFor(['operation'], sided).counter(help.fallbacks, 'fallbacks'),
  candidate_share: shifted.gauge(help.share, 'share'),
  candidate_taken_back: shifted.gauge(help.takenBack, isTakenBack),
}

export const metrics: Required<AdminPart>['metrics'] = [{ after: 'upstreams', value: candidateMetrics }]

/** Responses lack the field while no client is on the candidate. */
const describe: DescribeOperation = ({ group }, { upstreams }) => {
  const field = upstreams[group].candidate?.expose ?? null
  if (field === null) return {}
  const header = { description: 'Which upstream has served the request.', schema: { enum: sides } }
  return { fields: [{ layer: 'side', field, component: 'Side', header }] }
}

export const loadOpenApi = async () => ({ describe })

export const loadPage = () => import('./page.ts')

export const loadStatusTexts = () => import('./cli/status-text.ts')
