import type { UpstreamConfig } from '../../config/config.ts'
import { roundRobin } from './round-robin.ts'
import { twoChoices } from './two-choices.ts'

/** What a balancer knows of a member that it may pick. */
export interface Load {
  /** Requests on their way. */
  readonly inFlight: number
  /** Share of the traffic relative to the others, slow start included; above 0. */
  weightAt(now: number): number
  /** Decaying estimate of how long its answers take, in ms; at least 1. */
  latencyAt(now: number): number
  /** How many attempts a success takes of late; 1: all go well. */
  attemptsAt(now: number): number
}

/** Picks one of those that are open to it; there is at least one, or it throws `no-healthy-endpoint`. */
export type Pick<T extends Load> = (open: readonly T[], now: number) => T

/**
 * The ways to balance. Each call begins anew and remembers what it picked; `random` is from 0 to below 1. What two
 * choices compare is how long one more request would wait: p2c by what is in the queue times the time that each takes.
 * Least-requests knows no time, so it takes the queue twice: the square leaves alone sooner one that hangs.
 */
export const balancers: Readonly<
  Record<UpstreamConfig['balance'], <T extends Load>(random?: () => number) => Pick<T>>
> = {
  p2c: (random) => twoChoices((queue, member, now) => queue * member.latencyAt(now), random),
  'least-requests': (random) => twoChoices((queue) => queue * queue, random),
  'round-robin': roundRobin,
}
