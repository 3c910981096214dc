import type { Overview } from '../../../../core/admin/api/overview.ts'
import { pluralize, sinceStart } from '../../../../core/admin/commands/phrases.ts'
import { type Html, type HtmlValue, html } from '../../../../core/admin/html.ts'
import { expiryWarningDays } from '../../../../core/lib/text/format-time.ts'
import { formatRoundedSize } from '../../../../core/lib/text/units.ts'
import { badge, commandLinks, htmlList, htmlSection, sinceHtml, stateBadge, timeHtml } from '../components.ts'
import { formatCount, formatCounted } from '../format.ts'
import { type BadgeTone, type RowState, toRowState } from '../row-state.ts'

type Status = Overview['status']

export const workersSection = ({ at, status }: Overview): Html =>
  htmlSection(
    'workers',
    'Processes',
    htmlList([
      ['Node', `${status.node}, process ${status.pid}`],
      ...status.workers.map(
        ({ worker, pid, state, startedAt, restarts, inFlight, config }) =>
          [
            `worker ${worker}`,
            html`${stateBadge(workerState(state))}${pid !== null && ` process ${pid}`}${startedAt !== null && html` since ${sinceHtml(at, startedAt)}`}${restarts > 0 && `, ${formatCounted(restarts, 'restart')} ${sinceStart}`}${inFlight !== null && `, ${formatCount(inFlight)} in flight`}${config !== null && config !== status.config.hash && html`, runs <code>${config}</code>`}`,
          ] as const,
      ),
    ]),
  )

const workerState = (state: Status['workers'][number]['state']): RowState =>
  toRowState({
    well: state,
    takenOut: state === 'starting' || state === 'draining' ? state : null,
    dead: state === 'serving' ? null : state,
    isProven: true,
  })

export const recordsSection = ({ at, status: { audit, log } }: Overview): Html =>
  htmlSection(
    'records',
    'Audit and log',
    htmlList([
      ['Audit log', audit === null ? 'off, or written by another process' : auditState(at, audit)],
      ['Log level', log.level],
      ['Log lines dropped', log.dropped === 0 ? '0' : html`<strong>${formatCount(log.dropped)}</strong> ${sinceStart}`],
    ]),
  )

const auditState = (at: string, { reason, since, file, count: lines, waitingBytes, lost, disk }: Audit): Html =>
  html`${reason === null ? badge('good', 'written') : badge('bad', 'failing')} since ${sinceHtml(at, since)}${reason !== null && `: ${reason}`}, <span class="url">${file}</span>, its chain has ${formatCounted(lines, 'line')}${waitingBytes > 0 && `, ${formatRoundedSize(waitingBytes)} wait`}${lost > 0 && html`, <strong>${formatCount(lost)} lost</strong> ${sinceStart}`}${disk !== null && `, its disk has ${formatRoundedSize(disk.freeBytes)} free of ${formatRoundedSize(disk.sizeBytes)}`}`

type Audit = NonNullable<Status['audit']>

export const cacheSection = ({ at, status: { cache } }: Overview): Html =>
  htmlSection(
    'cache',
    'Cache',
    cache === null
      ? 'No operation is cached.'
      : htmlList([
          ['Stored', `${formatRoundedSize(cache.bytes)} of ${formatRoundedSize(cache.maxBytes)}`],
          ['Made room', `${formatCount(cache.evictions)}× ${sinceStart}`],
          [
            'Redis',
            cache.redis && html`${sharedBadge(at, cache.redis)}, <span class="url">${cache.redis.server}</span>`,
          ],
          ...Object.entries(cache.operations).map(
            ([id, { entries, hitRatio }]) =>
              [
                id,
                html`${formatCount(entries)} stored, ${hitRatio === null ? 'not asked for' : `${(hitRatio * 100).toFixed(1)} % hits ${sinceStart}`} ${commandLinks('cached', id)}`,
              ] as const,
          ),
        ]),
    cache && commandLinks('cache', cache),
  )

export const idempotencySection = ({ at, status: { idempotency } }: Overview): Html =>
  htmlSection(
    'idempotency',
    'Idempotency',
    idempotency === null
      ? 'No operation has it.'
      : htmlList([
          ['Remembered', html`in ${idempotency.store}${storeBadge(at, idempotency)}`],
          ['Keys', ofMost(idempotency.entries, idempotency.maxEntries, formatCount)],
          ['Responses', ofMost(idempotency.bytes, idempotency.maxBytes, formatRoundedSize)],
          ['In progress', idempotency.inProgress === null ? null : formatCount(idempotency.inProgress)],
          ['Unknown outcomes', idempotency.unknown === null ? null : unknownText(at, idempotency)],
          [
            'Given up',
            idempotency.dropped === 0 ? null : `${formatCounted(idempotency.dropped, 'response')} ${sinceStart}`,
          ],
          ['Refused', idempotency.refused === 0 ? null : `${formatCounted(idempotency.refused, 'key')} ${sinceStart}`],
        ]),
  )

type IdempotencyStatus = NonNullable<Status['idempotency']>

const storeBadge = (at: string, { store, state, since, reason, where }: IdempotencyStatus): Html | null => {
  if (state === 'unavailable')
    return html`, ${badge('bad', 'cannot be asked')} ${where} since ${sinceHtml(at, since)}${reason !== null && `: ${reason}`}`
  return store === 'memory' ? null : html`, ${sharedBadge(at, { state, since, reason, where })}`
}

const ofMost = (value: number | null, most: number | null, format: (value: number) => string): HtmlValue =>
  value === null
    ? null
    : html`${most !== null && value >= most && badge('bad', 'full')} ${format(value)}${most !== null && ` of ${format(most)}`}`

const unknownText = (at: string, { unknown, oldestUnknown }: IdempotencyStatus): HtmlValue =>
  oldestUnknown === null
    ? '0'
    : html`${badge('warning', formatCount(unknown ?? 0))} the oldest since ${sinceHtml(at, oldestUnknown)}`

export const limitsSection = ({ at, status: { limits } }: Overview): Html => {
  const { concurrency, rate, eventLoop } = limits
  return htmlSection(
    'limits',
    'Limits',
    htmlList([
      ...concurrency.map(
        ({ key, inFlight, limit }) =>
          [
            key,
            html`${inFlight >= limit ? badge('bad', 'full') : null} ${formatCount(inFlight)} of ${formatCount(limit)}`,
          ] as const,
      ),
      [
        'Counted',
        rate &&
          (rate.store === 'memory'
            ? 'in memory, by this gateway'
            : html`in ${rate.store}, ${sharedBadge(at, rate)}${rate.server !== null && html`, <span class="url">${rate.server}</span>`}`),
      ],
      [
        'Event loop',
        eventLoop &&
          html`${eventLoop.sheds && badge('bad', 'sheds load')} late by ${eventLoop.delayMs} ms of ${eventLoop.limitMs} ms${eventLoop.sheds && html`, since ${sinceHtml(at, eventLoop.since)}`}${eventLoop.where !== null && ` ${eventLoop.where}`}`,
      ],
    ]),
  )
}

type SharedState = Pick<NonNullable<Status['limits']['rate']>, 'state' | 'since' | 'reason' | 'where'>

const sharedBadge = (at: string, { state, since, reason, where }: SharedState): Html =>
  state === 'shared'
    ? html`${badge('good', 'shared')} since ${sinceHtml(at, since)}`
    : html`${badge('warning', 'by itself')} ${where} since ${sinceHtml(at, since)}${reason !== null && `: ${reason}`}`

export const clientsSection = ({ at, status: { clients, tokens } }: Overview): Html =>
  htmlSection(
    'clients',
    'Clients',
    htmlList([
      ['Known', clients === null ? 'nobody is asked' : clientsText(clients)],
      ['Keys of the issuer', tokens.jwt && issuerKeysText(at, tokens.jwt)],
      ['Keys of the issuer of operators', tokens.operators && issuerKeysText(at, tokens.operators)],
      ['Introspection', tokens.introspection && dependencyBadge(at, tokens.introspection)],
      [
        'Proofs',
        tokens.proofs &&
          `${formatCount(tokens.proofs.remembered)} remembered, room for ${formatCount(tokens.proofs.room)}`,
      ],
    ]),
  )

const clientsText = ({ methods, count, disabled }: NonNullable<Status['clients']>): string =>
  `${formatCounted(count, 'client')}, ${disabled === 0 ? 'none' : formatCount(disabled)} disabled; by ${methods.length === 0 ? 'nothing unless an operation asks' : methods.join(', ')}`

const issuerKeysText = (at: string, issuer: NonNullable<Status['tokens']['jwt']>): Html =>
  html`${dependencyBadge(at, issuer)}, ${formatCount(issuer.keys)} keys`

type DependencyStatus = NonNullable<Status['tokens']['introspection']>

const dependencyBadge = (at: string, { error, since, lastSuccess, where }: DependencyStatus): Html =>
  error === null
    ? lastSuccess === null
      ? badge('off', 'not asked yet')
      : html`${badge('good', 'answers')} since ${sinceHtml(at, since)}`
    : html`${badge('bad', 'does not answer')} ${where} since ${sinceHtml(at, since)}: ${error}; last had ${lastSuccess === null ? 'never' : timeHtml(at, lastSuccess)}`

export const certificatesSection = ({ at, status }: Overview): Html =>
  htmlSection(
    'certificates',
    'Certificates',
    status.certificates.length === 0
      ? 'None: neither listener speaks TLS.'
      : htmlList(
          status.certificates.map(({ key, names, notAfter, daysLeft }) => [
            key,
            html`${badge(expiryTone(daysLeft), daysLeft < 0 ? 'expired' : `${pluralize(daysLeft, 'day')} left`)} until ${timeHtml(at, notAfter)} <span class="age">${names.slice(0, 5).join(', ')}</span>`,
          ]),
        ),
  )

const expiryTone = (daysLeft: number): BadgeTone =>
  daysLeft < 0 ? 'bad' : daysLeft < expiryWarningDays ? 'warning' : 'good'
