import type { Origin } from '../../config/origins.ts'
import { printable } from '../../shared/printable.ts'
import { aligned, widthsOf } from '../gateway/table.ts'
import type { Behind, LayerShown, Setting, Share } from './behind.ts'
import type { Explanation } from './explanation.ts'
import { theNine } from './reason.ts'

/** Writes an explanation for a person: the answer first, then what stands behind it, each value with the line that says so. */
export const explanationText = (explanation: Explanation): string => {
  const { refused, behind, file } = explanation
  const facts = refused === null ? forwarded(explanation) : refusal(explanation)
  const sections = behind === null ? [] : sectionsOf(behind, explanation)
  const widths = widthsOf(
    sections.flatMap(({ rows }) => rows),
    widest,
  )
  const rendered = sections.map(({ title, rows }) => rendering(title, rows, widths))
  const endpoints = behind?.endpoints.map((share) => endpointRow(share, file)) ?? []
  // URLs are long: in columns of their own, they push nothing else to the right.
  const means = behind?.weightMeans ?? null
  const title = means === null ? 'endpoints' : `endpoints: ${means}`
  if (endpoints.length > 0) rendered.unshift(rendering(title, endpoints, widthsOf(endpoints, widest)))
  return `${[facts, ...rendered].join('\n\n')}\n\n${file} (hash ${explanation.hash})\n`
}

/** Is a line of a table: what, its value, the level that won, the place in the file. */
type Cells = readonly [what: string, value: string, level: string, place: string]

interface Section {
  readonly title: string
  readonly rows: readonly Cells[]
}

const forwarded = ({ method, target, operation, query, authority }: Explanation): string =>
  [
    `${request(method, target)}: forwarded`,
    '',
    `operation  ${operation?.id}`,
    `group      ${operation?.group}`,
    ...(query === '' ? [] : [`query      ${printable(short(query))} passes through untouched`]),
    ...(authority === null
      ? []
      : [`authority  ${authority} of the target, in place of the Host field (RFC 9112 §3.2.2)`]),
  ].join('\n')

const refusal = ({ method, target, refused, operation, basePath }: Explanation): string => {
  if (refused === null) return ''
  const { status, kind, allow, differs, meant, hint } = refused
  const isFar = operation === null && meant === null && kind !== 'uri-too-long'
  return [
    `${request(method, target)}: refused with ${status} ${kind}${allow === null ? '' : `, Allow: ${allow}`}`,
    '',
    ...differs.map((said, i) => `${i === 0 ? 'why   ' : '      '}${printable(said)}`),
    `hint  ${hint}`,
    ...(operation === null ? [] : ['', `operation  ${operation.id}`, `group      ${operation.group}`]),
    ...(isFar ? ['', 'the nine', ...theNine(basePath).map((one) => `  ${one}`)] : []),
  ].join('\n')
}

const sectionsOf = (behind: Behind, { operation, file }: Explanation): readonly Section[] => {
  const rowsOf = (settings: readonly Setting[], prefix: string): readonly Cells[] =>
    settings.map(({ key, value, origin }) => [key.slice(prefix.length), value, ...from(origin, file)])
  const upstream = `upstreams.${operation?.group}`
  const own = `operations.${operation?.id}`
  const prefixes = [`${own}.`, `${upstream}.`]
  return [
    {
      title: upstream,
      rows: [
        ...rowsOf(behind.upstream, `${upstream}.`),
        ...behind.fields.map(({ what, value, origin }): Cells => [what, value, ...from(origin, file)]),
      ],
    },
    { title: own, rows: rowsOf(behind.operation, `${own}.`) },
    { title: 'layers, the outermost first', rows: behind.layers.map((layer, i) => layerRow(layer, i, prefixes, file)) },
    { title: 'for all nine operations', rows: rowsOf(behind.everywhere, '') },
  ]
}

const endpointRow = (share: Share, file: string): Cells => [
  share.sandbox ? 'sandbox (embedded)' : share.url,
  `weight ${share.weight}, ${shareText(share)}`,
  ...from(share.origin, file),
]

const shareText = ({ weight, drain, percent, mostPercent }: Share): string => {
  if (drain) return 'draining, nothing'
  if (weight === 0) return 'nothing'
  return mostPercent === percent ? `${percent}%` : `${percent}%, at most ${mostPercent}%`
}

const layerRow = (
  { name, key, value, on, origin }: LayerShown,
  index: number,
  prefixes: readonly string[],
  file: string,
): Cells => {
  const prefix = prefixes.find((each) => key.startsWith(each)) ?? ''
  return [
    `${index + 1} ${name}`,
    `${key.slice(prefix.length)}: ${value}${on ? '' : unused(value)}`,
    ...from(origin, file),
  ]
}

const unused = (value: string): string => (value === 'none' ? ' (off)' : ' (not reached)')

const from = ({ source, line }: Origin, file: string): [level: string, place: string] => [
  source,
  line === 0 ? '' : `${file}:${line}`,
]

const widest = 60

const rendering = (title: string, rows: readonly Cells[], widths: readonly number[]): string =>
  [title, ...rows.map((cells) => `  ${aligned(cells, widths)}`)].join('\n')

const request = (method: string, target: string): string => `${printable(method)} ${printable(short(target))}`

const short = (text: string): string => (text.length > 200 ? `${text.slice(0, 199)}…` : text)
