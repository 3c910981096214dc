import type { UpstreamConfig } from '../../config/config.ts'
import { leastRequests } from './least-requests.ts'
import { p2c } from './p2c.ts'
import { roundRobin } from './round-robin.ts'

/** Is what a balancer knows of one that it may pick. */
export interface Load {
  /** Requests on their way. */
  readonly inFlight: number
  /** Share of the traffic relative to the others, slow start included; above 0. */
  weightAt(now: number): number
  /** Decaying estimate of how long its answers take, in ms; at least 1. */
  latencyAt(now: number): number
}

/** Picks one of those that are open to it; there is at least one, or it throws `no-healthy-endpoint`. */
export type Pick<T extends Load> = (open: readonly T[], now: number) => T

/** Lists the ways to balance. Each call begins anew and remembers what it picked; `random` is from 0 to below 1. */
export const balancers: Readonly<
  Record<UpstreamConfig['balance'], <T extends Load>(random?: () => number) => Pick<T>>
> = {
  p2c,
  'least-requests': leastRequests,
  'round-robin': roundRobin,
}
