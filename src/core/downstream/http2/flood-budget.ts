import type { ReasonFor } from '../../exchange/failures/errors.ts'
import { now } from '../../lib/clock.ts'
import { ConnectionError, errorCodes } from './http2-error.ts'

interface Flood {
  /** What has to be answered, or undone, costs the gateway most. */
  readonly cost: number
  readonly frames: string
  readonly reason: ReasonFor<'bad-request'>
}

/** The frames that bring no request forward. */
const floods = {
  /** CVE-2023-44487, CVE-2019-9514. */
  reset: { cost: 50, frames: 'RST_STREAM', reason: 'too-many-resets' },
  /** CVE-2025-8671: requests that are under way, and that the client has the gateway reset. */
  brokenStream: { cost: 50, frames: 'frames that break a request', reason: 'too-many-broken-streams' },
  /** CVE-2019-9516. They are decoded, and reset. */
  rejectedHead: { cost: 50, frames: 'heads that are rejected', reason: 'too-many-rejected-heads' },
  /** CVE-2019-9512. */
  ping: { cost: 50, frames: 'PING', reason: 'too-many-pings' },
  /** CVE-2019-9515. */
  settings: { cost: 50, frames: 'SETTINGS', reason: 'too-many-settings' },
  /** CVE-2024-27316. */
  continuation: { cost: 50, frames: 'short frames of a head', reason: 'too-many-continuations' },
  /** RFC 7541 §4.2: it empties the table. */
  tableSize: { cost: 50, frames: 'changes of the table of HPACK', reason: 'too-many-table-sizes' },
  /** CVE-2019-9518. */
  emptyData: { cost: 1, frames: 'DATA without data', reason: 'too-many-empty-frames' },
  /** CVE-2019-9511: a client that reads has them paid by the DATA that it gets. */
  windowUpdate: { cost: 1, frames: 'WINDOW_UPDATE', reason: 'too-many-window-updates' },
  /** CVE-2019-9513. */
  priority: { cost: 1, frames: 'PRIORITY', reason: 'too-many-priorities' },
  ignored: { cost: 1, frames: 'frames that are ignored', reason: 'too-many-ignored-frames' },
} as const satisfies Readonly<Record<string, Flood>>

export type FloodKind = keyof typeof floods

const kinds = Object.keys(floods) as readonly FloodKind[]

// Go's client opens a window by 4 KiB. Of the stream and of the connection.
const paidUpdatesPerKiB = 2
const maxPaidUpdates = 1_000_000

// Of 50: 200 at once, then 33 a second.
const burst = 10_000
const refillPerMs = 1650 / 1000

/** One budget of a connection, for all frames that cost without progress: mixed, they cost as much as of one kind. */
export class FloodBudget {
  #left = burst
  #refilledAt = now()
  /** WINDOW_UPDATEs that cost nothing. */
  #paidUpdates = 0
  /** By kind, since the budget was full. */
  readonly #spent = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<FloodKind, number>

  /** Throws {@link ConnectionError} where nothing is left. */
  take(kind: FloodKind): void {
    if (kind === 'windowUpdate' && this.#paidUpdates > 0) return void this.#paidUpdates--
    const at = now()
    this.#give((at - this.#refilledAt) * refillPerMs)
    this.#refilledAt = at
    const { cost } = floods[kind]
    this.#left -= cost
    this.#spent[kind] += cost
    if (this.#left < 0) throw this.#explain()
  }

  /** A client that reads has to open its windows. */
  payUpdates(dataBytes: number): void {
    const updates = Math.ceil(dataBytes / 1024) * paidUpdatesPerKiB
    this.#paidUpdates = Math.min(maxPaidUpdates, this.#paidUpdates + updates)
  }

  #give(units: number): void {
    if (this.#left === burst) return
    this.#left = Math.min(burst, this.#left + units)
    if (this.#left === burst) for (const kind of kinds) this.#spent[kind] = 0
  }

  /** Names the kind that took more than all others together. */
  #explain(): ConnectionError {
    const all = kinds.reduce((sum, kind) => sum + this.#spent[kind], 0)
    const main = kinds.find((kind) => this.#spent[kind] > all / 2)
    const { frames, reason } = main === undefined ? mixed : floods[main]
    return new ConnectionError(errorCodes.enhanceYourCalm, `too many frames without progress: ${frames}`, reason)
  }
}

const mixed = { frames: 'of several kinds', reason: 'too-many-frames' } as const
