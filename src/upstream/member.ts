import type { UpstreamConfig } from '../config/config.ts'
import type { Handle } from '../exchange.ts'
import { type AttemptReport, attemptReport } from '../failures/errors.ts'
import { reasonText } from '../failures/reasons.ts'
import type { Load } from './balance.ts'
import type { Endpoint } from './endpoint.ts'
import { sender } from './send.ts'
import type { Manner } from './sending.ts'
import type { Standing } from './standing.ts'

/** Says whether a member is sent to, and why not. `since` is milliseconds since the epoch. */
export interface MemberState {
  readonly name: 'up' | 'failing' | 'down' | 'ejected' | 'draining'
  readonly since: number | null
  readonly reason: string | null
}

// Of its share, at the first moment.
const leastStart = 0.1

interface Place extends Pick<Manner, 'watch' | 'onFailure'> {
  /** Its share of the traffic, relative to the others. */
  readonly weight: number
  /** Whether it takes no new work. */
  readonly draining: boolean
}

/** Is an endpoint in its place behind a group: its connections may be shared with another snapshot, its share of the traffic is not. */
export class Member implements Load {
  readonly endpoint: Endpoint
  readonly weight: number
  readonly draining: boolean
  /** Sends to it, whatever its state. */
  readonly send: Handle
  readonly #slowStartMs: number | null

  constructor(endpoint: Endpoint, config: UpstreamConfig, { weight, draining, watch, onFailure }: Place) {
    this.endpoint = endpoint
    this.weight = weight
    this.draining = draining
    this.#slowStartMs = config.slowStart
    this.send = sender(config, endpoint, watch, onFailure)
  }

  get name(): string {
    return this.endpoint.name
  }

  get standing(): Standing {
    return this.endpoint.standing
  }

  get inFlight(): number {
    return this.endpoint.inFlight
  }

  /** Tells whether it ever gets anything. */
  get takesWork(): boolean {
    return !this.draining && this.weight > 0
  }

  get state(): MemberState {
    const { down, unresolved, ejection } = this.standing
    if (!this.takesWork) return { name: 'draining', since: null, reason: null }
    const outage = down ?? unresolved
    if (outage !== null) return { name: 'down', ...outage }
    if (ejection !== null && this.standing.isEjected())
      return { name: 'ejected', since: ejection.since, reason: ejection.reason }
    const { isFailing, lastFailure, failingSince, failuresInARow } = this.standing
    if (!isFailing || lastFailure === null) return { name: 'up', since: null, reason: null }
    return failing({ failingSince, failuresInARow, lastFailure: attemptReport(this.name, lastFailure) })
  }

  weightAt(at: number): number {
    if (this.#slowStartMs === null) return this.weight
    const back = this.standing.backSince(at)
    if (back === null) return this.weight
    return this.weight * Math.min(1, Math.max(leastStart, (at - back) / this.#slowStartMs))
  }

  latencyAt(at: number): number {
    return this.standing.latency.at(at)
  }

  attemptsAt(at: number): number {
    return this.standing.attemptsAt(at)
  }
}

interface Failing {
  readonly failingSince: number | null
  readonly failuresInARow: number
  readonly lastFailure: AttemptReport
}

/** Says that an endpoint fails, and how. */
export const failing = ({ failingSince, failuresInARow, lastFailure }: Failing): MemberState => ({
  name: 'failing',
  since: failingSince,
  reason: `no success since ${failuresInARow} failures, the last: ${wordsOf(lastFailure)}`,
})

const wordsOf = ({ kind, reason, status }: AttemptReport): string =>
  kind === null ? `it answered ${status}` : reason === null ? kind : reasonText(reason)
