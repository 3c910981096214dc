import { commandPartLoaders } from '../../core/cli/built-in-command.ts'
import { getDecoded } from '../../core/cli/client/admin-client.ts'
import {
  type AdminTarget,
  type ClientCommandOptions,
  locateGateway,
  targetUrl,
} from '../../core/cli/client/admin-target.ts'
import { printJson, warnAboutTarget } from '../../core/cli/render/output.ts'
import { asObject, type Decoder } from '../../core/lib/text/decode.ts'
import { formatAgo } from '../../core/lib/text/format-time.ts'
import { formatShare } from '../../core/lib/text/units.ts'
import { formatViolationPlace } from './check/validators.ts'
import {
  type ContractReport,
  type ContractStatus,
  contractReportShape,
  type DriftRowView,
  wasChecked,
} from './status.ts'
import { renderContractCounts } from './status-text.ts'

export interface ReportText<T = unknown> {
  readonly key: string
  readonly decode: Decoder<T>
  render(value: T, at: number): string | null
}

declare module '../../core/cli/built-in-command.ts' {
  interface CommandPart {
    readonly loadReportText?: () => Promise<{ readonly reportText: ReportText }>
  }
}

export const showContractReport = async ({ format, ...targetOptions }: ClientCommandOptions): Promise<number> => {
  const target = await locateGateway(targetOptions)
  const parts = await Promise.all((await commandPartLoaders.load()).map(({ loadReportText }) => loadReportText?.()))
  const texts = parts.flatMap((part) => part?.reportText ?? [])
  const moreShape = asObject(Object.fromEntries(texts.map(({ key, decode }) => [key, decode])))
  const shape: Decoder<readonly [ContractReport, Readonly<Record<string, unknown>>]> = (value, path) => [
    contractReportShape(value, path),
    moreShape(value, path),
  ]
  const { body, decoded, at } = await getDecoded(target, '/contract', shape)
  const [report, more] = decoded
  const notes = texts.flatMap(({ key, render }) => render(more[key], at) ?? [])
  warnAboutTarget(target)
  if (format === 'json') printJson(body)
  else process.stdout.write(renderContractReport(target, report, notes, at))
  return 0
}

const renderContractReport = (target: AdminTarget, report: ContractReport, notes: readonly string[], at: number) => {
  const { contract, differingFiles, rows, others } = report
  const asked = `asked ${targetUrl(target)}`
  const edited = differingFiles ?? []
  const differs = edited.length === 0 ? '' : `\nan edit of ${edited.join(', ')} DOES NOT RUN: status says why`
  if (contract === null) return `${[asked + differs, ...notes, 'no contract is configured'].join('\n\n')}\n`
  const sections = [`${asked}, which holds messages to ${contract.file} (${contract.digest})${differs}`, ...notes]
  sections.push(
    renderContractCounts(contract, at) ?? 'no operation is checked: each says off, or is not in the contract',
  )
  const missing = Object.entries(contract.operations).filter(
    ([, { line, request, response }]) => line === null && (request.mode !== 'off' || response.mode !== 'off'),
  )
  if (missing.length > 0)
    sections.push(`NOT CHECKED, since the contract does not name them: ${missing.map(([id]) => id).join(', ')}`)
  const whole = wasChecked(contract) ? 'nothing breaks it' : 'nothing was checked yet'
  sections.push(rows.length === 0 ? whole : rows.map((row) => renderRow(contract, row, at)).join('\n'))
  if (others > 0) sections.push(`and ${others} more violations, not listed: the table is full`)
  return `${sections.join('\n\n')}\n`
}

const renderRow = (contract: ContractStatus, row: DriftRowView, at: number): string => {
  const { operation, direction, rule, detail, count, recent } = row
  const { firstAt, lastAt, client, endpoint, requestId } = row
  const checked = contract.operations[operation]?.[direction].checked ?? count
  const of = endpoint === null ? '' : direction === 'response' ? ` from ${endpoint}` : `, sent to ${endpoint}`
  const id = requestId === null ? '' : `, request ${requestId}`
  return [
    `${operation} ${direction}s: ${formatShare(count, checked)} break it at ${formatViolationPlace(row)}: ${rule}: ${detail}`,
    `  ${count} of ${checked}, ${recent} in the last 5 minutes, since ${formatAgo(firstAt, at)}`,
    `  last ${formatAgo(lastAt, at)}: of ${client}${of}${id}`,
  ].join('\n')
}
