import { dirname, isAbsolute, join } from 'node:path'
import type { BundlePart, LayerPlace } from '../../core/cli/built-in-command.ts'
import type { ClientCommandOptions } from '../../core/cli/client/admin-target.ts'
import { formatJson } from '../../core/cli/render/output.ts'
import { readConfig } from '../../core/config/load/load.ts'
import type { Provenance } from '../../core/config/load/provenance.ts'
import { type ConfigProblem, formatProblems } from '../../core/config/problem.ts'
import { escapeControls } from '../../core/lib/text/escape-controls.ts'
import { alignRow, columnWidths } from '../../core/lib/text/table.ts'
import { allOperations } from '../../operations.ts'
import {
  type Explanation,
  explainRequest,
  isForwarded,
  renderExplanationJson,
  withLiveRejection,
  withLiveSide,
} from './explanation.ts'
import { fetchLiveState, findOperation, renderLiveState, toLiveJson } from './live-state.ts'
import type {
  EndpointShare,
  ExplainedLayer,
  ExplainedSetting,
  OperationDetails,
  UpstreamDetails,
} from './operation-details.ts'
import { listOperations } from './rejection.ts'

export interface ExplainOptions extends ClientCommandOptions {
  readonly client?: string
  readonly live?: true
}

export const showExplanation = async (method: string, target: string, options: ExplainOptions): Promise<void> => {
  const { config: file, format, client, live: isLive } = options
  const loaded = await readConfig(file)
  if (!loaded.ok) {
    process.exitCode = loaded.unreadable ? 2 : 1
    return showProblems(method, target, options, loaded.problems)
  }
  const ofFile = explainRequest(method, target, file, loaded, client)
  const live = isLive ? await fetchLiveState(ofFile.operation, options) : null
  const withSide = withLiveSide(ofFile, loaded, live)
  const explanation = withLiveRejection(withSide, loaded, live)
  const { operation, hash } = explanation
  // In JSON, the result is that of the file; the live state stands beside it.
  if (format === 'json') process.stdout.write(renderExplanationJson(withSide, live))
  else process.stdout.write(renderExplanation(explanation))
  if (format !== 'json' && live && operation) process.stdout.write(renderLiveState(live, operation, hash))
  if (!isForwarded(explanation) && process.exitCode !== 2) process.exitCode = 1
}

const showProblems = async (
  method: string,
  target: string,
  { config: file, format, live: isLive, admin }: ExplainOptions,
  problems: readonly ConfigProblem[],
): Promise<void> => {
  const operation = isLive ? findOperation(method, target) : null
  const live = await fetchLiveState(operation, { config: file, admin })
  const more = live && { live: toLiveJson(live) }
  if (format === 'json')
    return void process.stdout.write(
      formatJson({ forwarded: null, method, target, file, hash: null, problems, ...more }),
    )
  process.stdout.write(formatProblems(problems))
  if (live && operation) process.stdout.write(renderLiveState(live, operation, null))
  else if (!isLive)
    process.stderr.write(
      'lender-gateway: nothing is explained while the file has problems; a running gateway stays as it is, and --live asks it\n',
    )
}

const renderExplanation = (explanation: Explanation): string => {
  const { rejected, details, file } = explanation
  const facts = rejected === null ? renderForwarded(explanation) : renderRejection(explanation)
  const sections = details === null ? [] : toSections(details, explanation)
  const widths = columnWidths(
    sections.flatMap(({ rows }) => rows),
    maxWidth,
  )
  const rendered = sections.map(({ title, rows }) => renderSection(title, rows, widths))
  const endpoints = [
    ...(details === null ? [] : [renderEndpoints('endpoints', details, file)]),
    ...(details?.other ? [renderEndpoints(`endpoints of the ${details.other.side}`, details.other, file)] : []),
  ]
  return `${[facts, ...endpoints, ...rendered].join('\n\n')}\n\n${file} (hash ${explanation.hash})\n`
}

/** URLs are long: in a table of their own they widen no other column. */
const renderEndpoints = (title: string, { endpoints, weightMeans }: UpstreamDetails, file: string): string => {
  const rows = endpoints.map((share) => endpointRow(share, file))
  return renderSection(weightMeans === null ? title : `${title}: ${weightMeans}`, rows, columnWidths(rows, maxWidth))
}

type SettingCells = readonly [what: string, value: string, level: string, place: string]

interface Section {
  readonly title: string
  readonly rows: readonly SettingCells[]
}

const renderForwarded = ({
  method,
  target,
  operation,
  query,
  authority,
  side,
  notReady,
  overruled,
}: Explanation): string =>
  [
    `${renderRequestLine(method, target)}: ${notReady === null ? 'forwarded' : `no new client is served just now: ${notReady}`}`,
    '',
    `operation  ${operation?.id}`,
    `group      ${operation?.group}`,
    ...(overruled === null ? [] : [`state      served just now, though the file rejects it: ${overruled}`]),
    ...(side === null ? [] : [`side       ${side.side}, for ${side.client}: ${side.why}`]),
    ...(query === '' ? [] : [`query      ${escapeControls(truncate(query))} passes through untouched`]),
    ...(authority === null
      ? []
      : [`authority  ${authority} of the target, in place of the Host field (RFC 9112 §3.2.2)`]),
  ].join('\n')

const renderRejection = ({ method, target, rejected, operation, basePath }: Explanation): string => {
  if (rejected === null) return ''
  const { status, kind, allow, differs, meant, hint } = rejected
  const isUnrelated = operation === null && meant === null && kind !== 'uri-too-long'
  return [
    `${renderRequestLine(method, target)}: rejected with ${status} ${kind}${allow === null ? '' : `, Allow: ${allow}`}`,
    '',
    ...differs.map((text, i) => `${i === 0 ? 'why   ' : '      '}${escapeControls(text)}`),
    `hint  ${hint}`,
    ...(operation === null ? [] : ['', `operation  ${operation.id}`, `group      ${operation.group}`]),
    ...(isUnrelated ? ['', 'the nine', ...listOperations(basePath).map((text) => `  ${text}`)] : []),
  ].join('\n')
}

const toSections = (details: OperationDetails, { operation, file }: Explanation): readonly Section[] => {
  const toRows = (settings: readonly ExplainedSetting[], prefix: string): readonly SettingCells[] =>
    settings.map(({ key, value, provenance }) => [
      key.slice(prefix.length),
      value,
      ...provenanceCells(provenance, file),
    ])
  const upstreamKey = `upstreams.${operation?.group}`
  const operationKey = `operations.${operation?.id}`
  const prefixes = [`${operationKey}.`, `${upstreamKey}.`]
  const fieldRows = (fields: UpstreamDetails['fields']): readonly SettingCells[] =>
    fields.map(({ what, value, provenance }): SettingCells => [what, value, ...provenanceCells(provenance, file)])
  const { side, upstream, fields } = details.other ?? { side: '', upstream: [], fields: [] }
  const otherKey = `${upstreamKey}.${side}`
  const isOfOther = ({ provenance }: Pick<ExplainedSetting, 'provenance'>): boolean => provenance.source === side
  const ofOther = [...toRows(upstream.filter(isOfOther), `${otherKey}.`), ...fieldRows(fields.filter(isOfOther))]
  return [
    { title: upstreamKey, rows: [...toRows(details.upstream, `${upstreamKey}.`), ...fieldRows(details.fields)] },
    ...(ofOther.length === 0 ? [] : [{ title: `${otherKey}, where it differs from ${upstreamKey}`, rows: ofOther }]),
    { title: operationKey, rows: toRows(details.operation, `${operationKey}.`) },
    {
      title: 'layers, the outermost first',
      rows: details.layers.map((layer, i) => layerRow(layer, i, prefixes, file)),
    },
    { title: 'for all nine operations', rows: toRows(details.globals, '') },
  ]
}

const endpointRow = (share: EndpointShare, file: string): SettingCells => [
  share.sandbox ? 'sandbox (embedded)' : share.url,
  `weight ${share.weight}, ${renderShare(share)}`,
  ...provenanceCells(share.provenance, file),
]

const renderShare = ({ weight, drain, percent, mostPercent }: EndpointShare): string => {
  if (drain) return 'draining, nothing'
  if (weight === 0) return 'nothing'
  return mostPercent === percent ? `${percent}%` : `${percent}%, at most ${mostPercent}%`
}

const layerRow = (
  { name, key, value, on, provenance, place }: ExplainedLayer,
  index: number,
  prefixes: readonly string[],
  file: string,
): SettingCells => {
  const prefix = prefixes.find((each) => key.startsWith(each)) ?? ''
  return [
    `${index + 1} ${name}`,
    `${key.slice(prefix.length)}: ${value}${on ? '' : offNote(value, place)}`,
    ...placeCells(provenance, place, file),
  ]
}

const placeCells = (provenance: Provenance, own: LayerPlace | null, file: string): [level: string, place: string] => {
  const [level, place] = provenanceCells(provenance, file)
  return [level, [place, own === null ? '' : formatLayerPlace(own, file)].filter((each) => each !== '').join('; ')]
}

const formatLayerPlace = ({ file, line }: LayerPlace, configFile: string): string => {
  const path = isAbsolute(file) ? file : join(dirname(configFile), file)
  return line === null ? path : `${path}:${line}`
}

const offNote = (value: string, place: LayerPlace | null): string => {
  if (value === 'none' || value === 'false') return ' (off)'
  if (value === 'off') return ''
  const why = place?.offBecause ?? null
  return why === null ? ' (not reached)' : ` (off: ${why})`
}

const provenanceCells = ({ source, line }: Provenance, file: string): [level: string, place: string] => [
  source,
  line === 0 ? '' : `${file}:${line}`,
]

const maxWidth = 60

const renderSection = (title: string, rows: readonly SettingCells[], widths: readonly number[]): string =>
  [title, ...rows.map((cells) => `  ${alignRow(cells, widths)}`)].join('\n')

const renderRequestLine = (method: string, target: string): string =>
  `${escapeControls(method)} ${escapeControls(truncate(target))}`

const truncate = (text: string): string => (text.length > 200 ? `${text.slice(0, 199)}…` : text)

export const ofFile: Required<BundlePart>['ofFile'] = {
  name: 'explain.txt',
  about: 'explain of the nine',
  render: (file, loaded) =>
    allOperations
      .map(({ method, path }) =>
        renderExplanation(explainRequest(method, loaded.config.listen.basePath + path, file, loaded)),
      )
      .join(`\n${'-'.repeat(80)}\n\n`),
}
