import type { UpstreamConfig } from './config.ts'

/** Returns what each process has of a limit for the whole gateway: rounded up, so that each has at least one. */
export const processShare = (limit: number, processes: number): number => Math.ceil(limit / processes)

/** Divides the places of an upstream among processes. */
export const divideConnections = (upstream: UpstreamConfig, processes: number): UpstreamConfig => ({
  ...upstream,
  maxConnections: processShare(upstream.maxConnections, processes),
  maxPending: processShare(upstream.maxPending, processes),
})
