import type { UpstreamConfig } from './config.ts'

export const processShare = (limit: number, processes: number): number => Math.ceil(limit / processes)

export const divideConnections = (upstream: UpstreamConfig, processes: number): UpstreamConfig => ({
  ...upstream,
  maxConnections: processShare(upstream.maxConnections, processes),
  maxPending: processShare(upstream.maxPending, processes),
})
