import type { ReasonFor } from '../../exchange/failures/errors.ts'
import { now } from '../../lib/clock.ts'
import { ConnectionError, errorCodes } from './http2-error.ts'

interface Flood {
  /** Frames that the gateway must reply to or undo cost most. */
  readonly cost: number
  readonly frames: string
  readonly reason: ReasonFor<'bad-request'>
}

/** Frames that advance no request. */
const floods = {
  /** CVE-2023-44487, CVE-2019-9514. */
  reset: { cost: 50, frames: 'RST_STREAM', reason: 'too-many-resets' },
  /** CVE-2025-8671: the client breaks a stream under way, so that the gateway resets it. */
  brokenStream: { cost: 50, frames: 'frames that break a request', reason: 'too-many-broken-streams' },
  /** CVE-2019-9516. Each is decoded, then reset. */
  rejectedHead: { cost: 50, frames: 'heads that are rejected', reason: 'too-many-rejected-heads' },
  /** CVE-2019-9512. */
  ping: { cost: 50, frames: 'PING', reason: 'too-many-pings' },
  /** CVE-2019-9515. */
  settings: { cost: 50, frames: 'SETTINGS', reason: 'too-many-settings' },
  /** CVE-2024-27316. */
  continuation: { cost: 50, frames: 'short frames of a head', reason: 'too-many-continuations' },
  /** RFC 7541 §4.2: a change may empty the table. */
  tableSize: { cost: 50, frames: 'changes of the table of HPACK', reason: 'too-many-table-sizes' },
  /** CVE-2019-9518. */
  emptyData: { cost: 1, frames: 'DATA without data', reason: 'too-many-empty-frames' },
  /** CVE-2019-9511. The DATA that a client gets pays for its updates. */
  windowUpdate: { cost: 1, frames: 'WINDOW_UPDATE', reason: 'too-many-window-updates' },
  /** CVE-2019-9513. */
  priority: { cost: 1, frames: 'PRIORITY', reason: 'too-many-priorities' },
  ignored: { cost: 1, frames: 'frames that are ignored', reason: 'too-many-ignored-frames' },
} as const satisfies Readonly<Record<string, Flood>>

export type FloodKind = keyof typeof floods

const kinds = Object.keys(floods) as readonly FloodKind[]

// Go's client opens the windows of stream and connection by 4 KiB each.
const paidUpdatesPerKiB = 2
const maxPaidUpdates = 1_000_000

// At a cost of 50: 200 frames at once, then 33 a second.
const burst = 10_000
const refillPerMs = 1650 / 1000

/** One budget of a connection: a mixed flood may cost no more than a flood of one kind. */
export class FloodBudget {
  #left = burst
  #refilledAt = now()
  /** WINDOW_UPDATEs that DATA has paid for. */
  #paidUpdates = 0
  /** By kind, since the budget was full. */
  readonly #spent = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<FloodKind, number>

  /** Throws {@link ConnectionError} when the budget is spent. */
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
