import { PeakEwma } from '../../../../src/core/upstream/attempt/attempt-outcome.ts'
import type { BalancerCandidate, SelectEndpoint } from '../../../../src/core/upstream/balancing/balancers.ts'

/** A member with the load that the test sets. */
export class FakeCandidate implements BalancerCandidate {
  inFlight = 0
  latencyMs = 1
  attempts = 1
  weight: number
  readonly weightAt = (): number => this.weight
  readonly latencyAt = (): number => this.latencyMs
  readonly attemptsPerSuccessAt = (): number => this.attempts

  constructor(weight = 100) {
    this.weight = weight
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
  readonly serviceMs: number
  readonly latency = new PeakEwma()
  readonly #due: number[] = []
  inFlight = 0
  /** The number of requests that it received. */
  received = 0
  readonly weightAt = (): number => 100
  readonly latencyAt = (now: number): number => this.latency.at(now)
  readonly attemptsPerSuccessAt = (): number => 1

  constructor(serviceMs: number) {
    this.serviceMs = serviceMs
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
