import { formatProblem } from '../../config/problem.ts'
import type { EndpointStatus, Status, UpstreamStatus } from './answers.ts'
import { ago, span, until } from './span.ts'

// The first ones tell what is wrong; a file of another format would have hundreds.
const maxProblems = 10

/** Writes a gateway's status on a screen: what it is, what runs, what does not, and last, where the eye ends, why the file was refused. */
export const statusText = (url: string, status: Status, at: number): string => {
  const { upstreams, operations, config } = status
  const sections = [facts(url, status, at), table(groupRows(upstreams))]
  if (Object.keys(operations).length > 0) sections.push(table(operationRows(operations, at)))
  if (config.lastRefusal !== null) sections.push(refusal(config, config.lastRefusal, at))
  return `${sections.join('\n\n')}\n`
}

const facts = (
  url: string,
  { state, ready, version, node, pid, uptimeSeconds, config, retiring, log }: Status,
  at: number,
): string => {
  const rows: (readonly [string, string])[] = [
    ['gateway', `${state}, ${ready ? 'ready' : 'NOT READY'}`],
    ['at', url],
    ['version', `${version}, Node ${node}, process ${pid}`],
    ['up', span(uptimeSeconds)],
    [
      'config',
      `${config.hash}, loaded ${ago(config.loadedAt, at)}, ${causes[config.loadedBy] ?? `by ${config.loadedBy}`}`,
    ],
    ['before', config.previous === null ? 'none' : `${config.previous}, which rollback brings back`],
    ['file', `${config.file}: ${fileState(config)}`],
    ['log', log.dropped === 0 ? 'no lines dropped' : `${log.dropped} LINES DROPPED: its reader is too slow`],
  ]
  if (retiring > 0) rows.push(['retiring', `${retiring} earlier: requests that began under it still run`])
  return table(rows)
}

const causes: Readonly<Record<string, string>> = {
  start: 'at the start',
  file: 'by an edit of the file',
  signal: 'by SIGHUP',
  request: 'by a reload',
  rollback: 'by a rollback',
}

const fileState = ({ fileDiffers, lastRefusal, loadedBy }: Status['config']): string => {
  if (!fileDiffers) return 'says what runs'
  if (lastRefusal !== null) return 'DIFFERS from what runs: it was refused, see below'
  if (loadedBy === 'rollback') return 'DIFFERS from what runs: it was rolled back; reload takes it again'
  return 'DIFFERS from what runs: it was not read yet; reload reads it now'
}

type Row = readonly string[]

const groupRows = (upstreams: Status['upstreams']): readonly Row[] => [
  ['group', 'in flight', 'endpoints'],
  ...Object.entries(upstreams).flatMap(([group, { inFlight, endpoints }]: [string, UpstreamStatus]): readonly Row[] => {
    const several = endpoints.length > 1
    const [first = 'none', ...others] = endpoints.map((endpoint) => endpointText(endpoint, several))
    return [[group, `${inFlight}`, first], ...others.map((other) => ['', '', other])]
  }),
]

const endpointText = ({ url, weight, sandbox, inFlight }: EndpointStatus, several: boolean): string => {
  const name = sandbox ? 'sandbox (embedded)' : url
  if (weight === 0) return `${name}, weight 0: nothing new`
  return several ? `${name}, weight ${weight}, ${inFlight} in flight` : name
}

const operationRows = (operations: Status['operations'], at: number): readonly Row[] => [
  ['operation', 'state'],
  ...Object.entries(operations).map(([id, { state, until: end }]): Row => {
    const said = state === 'refuse' ? 'REFUSED' : state === 'serve' ? 'served' : state
    return [id, end === null ? `${said} by the file` : `${said} by an operator until ${until(end, at)}`]
  }),
]

const refusal = (
  { file }: Status['config'],
  { at: when, problems }: NonNullable<Status['config']['lastRefusal']>,
  at: number,
): string => {
  const more = problems.length - maxProblems
  return [
    `refused ${ago(when, at)}; what ran before runs on`,
    ...problems.slice(0, maxProblems).map(formatProblem),
    ...(more > 0 ? [`and ${more} more: lender-gateway check ${file}`] : []),
  ].join('\n')
}

/** Aligns columns; the last one is as long as it is. */
const table = (rows: readonly Row[]): string => {
  const width = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0))
  const columns = Math.max(...rows.map((row) => row.length))
  const widths = Array.from({ length: columns - 1 }, (_, column) => width(column))
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
