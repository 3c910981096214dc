import type { Overview } from '../../overview.ts'
import { type Html, html } from '../html.ts'
import { list, section } from '../table.ts'
import { count, counted, type Mood, mark, moment, since } from '../words.ts'

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
