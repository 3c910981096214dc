import { PeakEwma } from '../../../../src/core/upstream/attempt/attempt-outcome.ts'
import type { BalancerCandidate, SelectEndpoint } from '../../../../src/core/upstream/balancing/balancers.ts'

/** A member with the load that the test sets. */
export class FakeCandidate implements BalancerCandidate {
  inFlight = 0
  latencyMs = 1
  attempts = 1
  weight: number

  constructor(weight = 100) {
    this.weight = weight
  }

  weightAt(): number {
    return this.weight
  }

  latencyAt(): number {
    return this.latencyMs
  }

  attemptsPerSuccessAt(): number {
    return this.attempts
  }
}

/** Creates members of these weights. */
export const fakes = (weights: readonly number[]): FakeCandidate[] => weights.map((weight) => new FakeCandidate(weight))

/** Creates a generator from 0 to below 1 that is the same for the same seed (mulberry32). */
export const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Selects so many times, and counts by the place in `members`. */
export const tally = <T extends BalancerCandidate>(
  pick: SelectEndpoint<T>,
  members: readonly T[],
  count: number,
): number[] => {
  const counts = members.map(() => 0)
  for (let i = 0; i < count; i++) {
    const place = members.indexOf(pick(members, i))
    counts[place] = (counts[place] ?? 0) + 1
  }
  return counts
}

/** An endpoint in a simulation: it responds to each request after `serviceMs`; Infinity: never. */
export class Server implements BalancerCandidate {
  readonly weight: number
  readonly serviceMs: number
  readonly latency = new PeakEwma()
  readonly #due: number[] = []
  inFlight = 0
  /** The number of requests that it received. */
  received = 0

  constructor(serviceMs: number, weight = 100) {
    this.serviceMs = serviceMs
    this.weight = weight
  }

  weightAt(): number {
    return this.weight
  }

  latencyAt(now: number): number {
    return this.latency.at(now)
  }

  attemptsPerSuccessAt(): number {
    return 1
  }

  send(now: number): void {
    this.received++
    this.inFlight++
    this.latency.requestSent(now)
    this.#due.push(now + this.serviceMs)
  }

  respond(now: number): void {
    while (this.#due[0] !== undefined && this.#due[0] <= now) {
      this.#due.shift()
      this.inFlight--
      this.latency.headReceived(this.serviceMs, now)
    }
  }
}

/** Sends a request every `everyMs` from one time to another. Returns the number that each server received. */
export const simulate = (
  pick: SelectEndpoint<Server>,
  servers: readonly Server[],
  time: { readonly fromMs: number; readonly toMs: number; readonly everyMs: number },
): number[] => {
  const before = servers.map(({ received }) => received)
  for (let now = time.fromMs; now < time.toMs; now += time.everyMs) {
    for (const server of servers) server.respond(now)
    pick(servers, now).send(now)
  }
  return servers.map(({ received }, i) => received - (before[i] ?? 0))
}
