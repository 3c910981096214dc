import type { Overview, PlacedSection } from '../../core/admin/admin-part.ts'
import { type Html, html } from '../../core/admin/html.ts'
import {
  badge,
  formatCount,
  formatCounted,
  formatMilliseconds,
  htmlList,
  htmlSection,
  htmlTable,
  sinceHtml,
  timeHtml,
} from '../../core/admin/page-components.ts'

const clientActivitySection = ({ at, clients }: Overview): Html => {
  if (clients === null) return htmlSection(name, heading, 'Without auth, clients are not identified.')
  const { rows } = clients
  if (rows.length === 0) return htmlSection(name, heading, 'No client has sent a request in the last 15 minutes.')
  const affected = rows.filter(isAffected)
  const others = rows.filter((row) => !isAffected(row))
  const folded =
    others.length > 0 &&
    html`<details id="clients-well"><summary>${formatCounted(others.length, 'client')}${affected.length > 0 && ' more'} without an error</summary>${clientsTable(at, 'clients-well-table', others)}</details>`
  const missing = missingText(clients)
  const more = html`${folded}${missing !== null && html`<p class="age">${missing}</p>`}`
  if (affected.length === 0) return htmlSection(name, heading, `No client had an error in the last 15 minutes.`, more)
  return htmlSection(name, heading, html`${clientsTable(at, 'clients-affected-table', affected)}${more}`)
}

const missingText = ({ rows, seen, complete }: NonNullable<Overview['clients']>): string | null => {
  if (complete === false)
    return `There were more clients than the gateway follows: ${formatCount(seen)} are followed, ${formatCount(rows.length)} are listed.`
  return seen > rows.length ? `${formatCount(seen - rows.length)} more are not listed.` : null
}

const [name, heading] = ['activity', 'By client']

type ActivityRow = NonNullable<Overview['clients']>['rows'][number]

const isAffected = ({ failed, limited, rejected }: ActivityRow): boolean => failed + limited + rejected > 0

// A client cannot work when 1 of 20 requests fails, or half of them are rejected.
const isBad = ({ requests, failed, limited, rejected }: ActivityRow): boolean =>
  failed * 20 >= requests || (limited + rejected) * 2 >= requests

const clientsTable = (at: string, id: string, rows: readonly ActivityRow[]): Html =>
  htmlTable<ActivityRow>({
    id,
    caption: 'Clients of the last 15 minutes, most errors first',
    idOf: ({ client }) => `activity-${client}`,
    isBad: (row) => isAffected(row) && isBad(row),
    bodies: [{ rows }],
    columns: [
      { title: 'Client', cell: ({ client }) => html`<b>${client}</b>` },
      { title: 'Requests', kind: 'number', cell: ({ requests }) => formatCount(requests) },
      countColumn('Failed', 'failed'),
      countColumn('429', 'limited'),
      countColumn('Other 4xx', 'rejected'),
      { title: 'p50', kind: 'number', cell: ({ p50 }) => formatMilliseconds(p50) },
      { title: 'p99', kind: 'number', cell: ({ p99 }) => formatMilliseconds(p99) },
      { title: 'Last seen', cell: ({ lastAt }) => timeHtml(at, lastAt) },
      { title: 'Key', cell: ({ keyId }) => keyId !== null && html`<code>${keyId}</code>` },
    ],
  })

const countColumn = (title: string, member: 'failed' | 'limited' | 'rejected') => ({
  title,
  kind: 'number' as const,
  cell: (row: ActivityRow) => formatCount(row[member]),
  isIdle: (row: ActivityRow) => row[member] === 0,
})

const clientsSection = ({ at, status: { clients, tokens } }: Overview): Html => {
  const { jwt, operators, introspection, proofs } = tokens
  return htmlSection(
    'clients',
    'Clients',
    htmlList([
      ['Known', clients === null ? 'not identified: no auth' : clientsText(clients)],
      ['Keys of the issuer', jwt && issuerKeysText(at, jwt)],
      ['Keys of the issuer of operators', operators && issuerKeysText(at, operators)],
      ['Introspection', introspection && dependencyBadge(at, introspection)],
      ['Proofs', proofs && `${formatCount(proofs.remembered)} remembered, room for ${formatCount(proofs.room)}`],
    ]),
  )
}

const clientsText = ({ methods, count, disabled }: NonNullable<Overview['status']['clients']>): string =>
  `${formatCounted(count, 'client')}, ${disabled === 0 ? 'none' : formatCount(disabled)} disabled; by ${methods.length === 0 ? 'nothing unless an operation asks' : methods.join(', ')}`

const issuerKeysText = (at: string, issuer: NonNullable<Overview['status']['tokens']['jwt']>): Html =>
  html`${dependencyBadge(at, issuer)}, ${formatCount(issuer.keys)} keys`

type DependencyStatus = NonNullable<Overview['status']['tokens']['introspection']>

const dependencyBadge = (at: string, { error, since, lastSuccess, where }: DependencyStatus): Html =>
  error === null
    ? lastSuccess === null
      ? badge('off', 'not asked yet')
      : html`${badge('good', 'responds')} since ${sinceHtml(at, since)}`
    : html`${badge('bad', 'does not respond')} ${where} since ${sinceHtml(at, since)}: ${error}; last valid response: ${lastSuccess === null ? 'never' : timeHtml(at, lastSuccess)}`

export const pageSections: readonly PlacedSection[] = [
  { before: 'rejections', name: 'activity', link: 'By client', render: clientActivitySection },
  { before: 'certificates', name: 'clients', link: 'Clients', render: clientsSection },
]
