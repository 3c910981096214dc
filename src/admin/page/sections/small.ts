import { roundedSize } from '../../../units.ts'
import type { Overview } from '../../overview.ts'
import { type Html, html } from '../html.ts'
import { count, counted, links, list, type Mood, mark, moment, section, since } from '../parts.ts'

/** Tells of the processes that serve clients. */
export const workers = ({ at, status }: Overview): Html =>
  section(
    'workers',
    'Processes',
    list([
      ['Node', `${status.node}, process ${status.pid}`],
      ...status.workers.map(
        ({ worker, pid, state, startedAt, restarts, inFlight, config }) =>
          [
            `worker ${worker}`,
            html`${mark(state === 'serving' ? 'good' : state === 'starting' || state === 'draining' ? 'off' : 'bad', state)}${pid !== null && ` process ${pid}`}${startedAt !== null && html` since ${since(at, startedAt)}`}${restarts > 0 && `, ${counted(restarts, 'restart')}`}${inFlight !== null && `, ${count(inFlight)} in flight`}${config !== null && config !== status.config.hash && html`, runs <code>${config}</code>`}`,
          ] as const,
      ),
    ]),
  )

/** Tells whether what happens is written down. */
export const records = ({ at, status: { audit, log } }: Overview): Html =>
  section(
    'records',
    'Audit and log',
    list([
      ['Audit log', audit === null ? 'off, or written by another process' : written(at, audit)],
      ['Log level', log.level],
      ['Log lines dropped', log.dropped === 0 ? '0' : html`<strong>${count(log.dropped)}</strong>`],
    ]),
  )

const written = (at: string, { reason, since: from, file, count: lines, waitingBytes, lost }: Audit): Html =>
  html`${reason === null ? mark('good', 'written') : mark('bad', 'failing')} since ${since(at, from)}${reason !== null && `: ${reason}`}, <span class="url">${file}</span>, ${counted(lines, 'line')}${waitingBytes > 0 && `, ${roundedSize(waitingBytes)} wait`}${lost > 0 && html`, <strong>${count(lost)} lost</strong>`}`

type Audit = NonNullable<Overview['status']['audit']>

/** Tells what is stored, and of how much use that is. */
export const cache = ({ at, status: { cache } }: Overview): Html =>
  section(
    'cache',
    'Cache',
    cache === null
      ? html`<p>No operation is cached.</p>`
      : list([
          ['Stored', `${roundedSize(cache.bytes)} of ${roundedSize(cache.maxBytes)}`],
          ['Made room', `${count(cache.evictions)}×`],
          ['Redis', cache.redis && shared(at, cache.redis)],
          ...Object.entries(cache.operations).map(
            ([id, { entries, hitRatio }]) =>
              [
                id,
                html`${count(entries)} stored, ${hitRatio === null ? 'not asked for' : `${(hitRatio * 100).toFixed(1)} % hits`} ${links('cached', id)}`,
              ] as const,
          ),
        ]),
    cache !== null && links('cache', cache),
  )

/** Tells how near the gateway is to what it takes on at most. */
export const limits = ({ at, status: { limits } }: Overview): Html => {
  const { concurrency, rate, eventLoop } = limits
  return section(
    'limits',
    'Limits',
    list([
      ...concurrency.map(
        ({ key, inFlight, limit }) =>
          [key, html`${inFlight >= limit ? mark('bad', 'full') : null} ${count(inFlight)} of ${count(limit)}`] as const,
      ),
      ['Rates are counted', rate && html`in ${rate.store}, ${shared(at, rate)}`],
      [
        'Event loop',
        eventLoop &&
          html`${eventLoop.sheds && mark('bad', 'sheds load')} late by ${eventLoop.delayMs} ms of ${eventLoop.limitMs} ms${eventLoop.sheds && html`, since ${since(at, eventLoop.since)}`}${eventLoop.where !== null && ` ${eventLoop.where}`}`,
      ],
    ]),
  )
}

interface Shared {
  readonly state: 'shared' | 'local'
  readonly since: string
  readonly reason: string | null
  readonly where: string | null
}

const shared = (at: string, { state, since: from, reason, where }: Shared): Html =>
  state === 'shared'
    ? html`${mark('good', 'shared')} since ${since(at, from)}`
    : html`${mark('warning', 'by itself')} ${where} since ${since(at, from)}${reason !== null && `: ${reason}`}`

type Status = Overview['status']
type Standing = NonNullable<Status['tokens']['introspection']>

/** Tells how it stands with what clients are known by. */
export const clients = ({ at, status: { clients, tokens } }: Overview): Html =>
  section(
    'clients',
    'Clients',
    list([
      ['Known', clients === null ? 'nobody is asked' : known(clients)],
      ['Keys of the issuer', tokens.jwt && html`${standing(at, tokens.jwt)}, ${count(tokens.jwt.keys)} keys`],
      ['Introspection', tokens.introspection && standing(at, tokens.introspection)],
      [
        'Proofs',
        tokens.proofs && `${count(tokens.proofs.remembered)} remembered, room for ${count(tokens.proofs.room)}`,
      ],
    ]),
  )

const known = ({ methods, count: all, disabled }: NonNullable<Status['clients']>): string =>
  `${counted(all, 'client')}, ${disabled === 0 ? 'none' : count(disabled)} disabled; by ${methods.length === 0 ? 'nothing unless an operation asks' : methods.join(', ')}`

const standing = (at: string, { error, since: from, lastSuccess, where }: Standing): Html =>
  error === null
    ? html`${mark('good', 'answers')} since ${since(at, from)}`
    : html`${mark('bad', 'does not answer')} ${where} since ${since(at, from)}: ${error}; last had ${lastSuccess === null ? 'never' : moment(at, lastSuccess)}`

/** Tells how long the certificates are good for that the gateway shows. */
export const certificates = ({ at, status }: Overview): Html =>
  section(
    'certificates',
    'Certificates',
    status.certificates.length === 0
      ? html`<p>None: neither listener speaks TLS.</p>`
      : list(
          status.certificates.map(({ key, names, notAfter, daysLeft }) => [
            key,
            html`${mark(moodOf(daysLeft), daysLeft < 0 ? 'expired' : daysLeft === 1 ? '1 day left' : `${daysLeft} days left`)} until ${moment(at, notAfter)} <span class="age">${names.slice(0, 5).join(', ')}</span>`,
          ]),
        ),
  )

const moodOf = (daysLeft: number): Mood => (daysLeft < 3 ? 'bad' : daysLeft < 21 ? 'warning' : 'good')
