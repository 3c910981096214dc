import { statusShape } from '../../../core/admin/api/status.ts'
import { sinceStart } from '../../../core/admin/commands/phrases.ts'
import { getDecoded } from '../../../core/cli/client/admin-client.ts'
import { type ClientCommandOptions, locateGateway, targetUrl } from '../../../core/cli/client/admin-target.ts'
import { printJson, warnAboutTarget } from '../../../core/cli/render/output.ts'
import { formatAgo, timesBeside } from '../../../core/lib/text/format-time.ts'
import { formatTable, renderCounts } from '../../../core/lib/text/table.ts'
import type { UpstreamStatus } from '../../../core/runtime/status/upstreams.ts'
import { describeShift, type ShiftStatus } from '../shift/shift-state.ts'
import { shadowReportShape } from '../status/candidate-status.ts'
import {
  type ComparisonView,
  type DifferenceView,
  describeEqual,
  describeNoCopies,
  describePlace,
  describeShadow,
  describeValues,
} from '../status/describe-comparison.ts'

export const showShiftReport = async (group: string, options: ClientCommandOptions): Promise<number> => {
  const { format, ...targetOptions } = options
  const target = await locateGateway(targetOptions)
  const { decoded, at } = await getDecoded(target, '/shadow', shadowReportShape)
  warnAboutTarget(target)
  const comparison = decoded.comparisons.find((each) => each.group === group)
  const isIdle = format === 'text' && comparison?.recent.compared === 0
  const status = comparison === undefined || isIdle ? await getDecoded(target, '/status', statusShape) : null
  const candidate = status?.decoded.upstreams[group]?.candidate ?? null
  if (comparison === undefined) {
    process.stderr.write(`lender-gateway: ${targetUrl(target)}: ${whyNotCompared(group, candidate)}\n`)
    return 1
  }
  if (format === 'json') printJson({ at: decoded.at, ...comparison })
  else process.stdout.write(renderComparison(comparison, at, candidate?.shift ?? null))
  return 0
}

const whyNotCompared = (group: string, candidate: UpstreamStatus['candidate']): string => {
  const key = `upstreams.${group}.candidate`
  if (candidate === null) return `${group} has no candidate: write ${key} in the file`
  return candidate.shadow === null
    ? `nothing is copied to the candidate of ${group}: write ${key}.shadow in the file`
    : `responses of the candidate of ${group} are not compared: ${key}.shadow.compare is none`
}

const renderComparison = (comparison: ComparisonView, at: number, shift: ShiftStatus | null): string => {
  const { group, verdict, since, recent, shadow, operations, rows, others, noise } = comparison
  const why = shift && describeNoCopies(shift)
  const head = [
    `the candidate of ${group}: ${verdict}`,
    `since ${formatAgo(since, at)}; in the last 5 minutes ${describeEqual(recent)}`,
    ...(why === null || shift === null ? [] : [`${why}: the candidate gets ${describeShift(shift, timesBeside(at))}`]),
    `copies ${sinceStart}: ${describeShadow(shadow)}`,
  ]
  const sections = [head.join('\n')]
  if (operations.length > 0) sections.push(formatTable(operationRows(operations)))
  if (rows.length > 0) sections.push(rows.map((row) => renderRow(row, at)).join('\n'))
  if (others > 0) sections.push(`and ${others} more differences, not listed: the table is full`)
  if (noise.length > 0) sections.push(renderNoise(noise))
  return `${sections.join('\n\n')}\n`
}

const operationRows = (operations: ComparisonView['operations']) => [
  ['operation', 'compared', 'equal', 'differ', 'not compared', 'p50', 'p95', 'p99'],
  ...operations.map(({ operation, compared, equal, uncompared, latency: { primary, candidate } }) => [
    operation,
    `${compared}`,
    `${equal}`,
    `${compared - equal}`,
    renderCounts(uncompared),
    ...(['p50', 'p95', 'p99'] as const).map((name) => besideText(primary[name], candidate[name])),
  ]),
]

const besideText = (primary: number | null, candidate: number | null): string =>
  primary === null || candidate === null ? '-' : `${primary} → ${candidate} ms`

const renderRow = (row: DifferenceView, at: number): string => {
  const { operation, count, recent, firstAt, lastAt, requestId, noise } = row
  const id = requestId === null ? '' : `, request ${requestId}`
  return [
    `${operation}: ${describePlace(row)} in ${count}, ${recent === count ? 'all' : recent} of them in the last 5 minutes`,
    `  since ${formatAgo(firstAt, at)}; last ${formatAgo(lastAt, at)}${id}`,
    ...(noise > 0 ? [`  in ${noise} of the primary's own pairs too: too rarely to be noise`] : []),
    ...pairLines(row).map((line) => `  ${line}`),
  ].join('\n')
}

const maxRequests = 3

const pairLines = ({ kind, pairs, otherPairs }: DifferenceView): readonly string[] => {
  const [first] = pairs
  if (first === undefined || kind === 'missing' || kind === 'added') return []
  const others = otherPairs > 0 ? [`${formatTimes(otherPairs)} another pair`] : []
  if (describeValues(first) !== null)
    return [...pairs.map((pair) => `${describeValues(pair)} ${formatTimes(pair.count)}${lastText(pair)}`), ...others]
  if (pairs.length === 1) return ['always the same two values']
  if (first.count === 1 && otherPairs > 0)
    return ['the values differ each time, as times and ids do: compare.ignore leaves such a place out']
  const requests = pairs.flatMap((pair) => pair.requestId ?? []).slice(0, maxRequests)
  const compare = requests.length === 0 ? '' : `: compare the requests ${requests.join(', ')}`
  const many = `${pairs.length}${otherPairs > 0 ? ' and more' : ''} pairs of values`
  return [`${many}, the most frequent ${formatTimes(first.count)}${compare}`]
}

const formatTimes = (count: number): string => (count === 1 ? 'once' : `${count} times`)

const lastText = ({ requestId }: DifferenceView['pairs'][number]): string =>
  requestId === null ? '' : `, last in request ${requestId}`

const renderNoise = (noise: ComparisonView['noise']): string =>
  [
    'noise, not compared, because two responses of the primary to one request differ there:',
    ...noise.map((row) => `  ${row.operation}: ${describePlace(row)} in ${row.count} of ${row.of}`),
  ].join('\n')
