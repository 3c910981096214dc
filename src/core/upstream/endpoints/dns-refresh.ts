import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { repeatWithJitter } from '../../lib/clock.ts'
import { describeUpstreamError } from '../classify-error.ts'
import { resolveHostname } from './dns-lookup.ts'

/** Finds the addresses of a name. Rejects with the system's error. */
type ResolveHostname = (hostname: string) => Promise<readonly LookupAddress[]>

interface DnsRefreshCallbacks {
  /** Called the first time, when the set of addresses changes, and when the name resolves again. */
  onResolved(addresses: readonly LookupAddress[]): void
  /** Called when the name does not resolve, once for each reason until it does. */
  onFailure(reason: string): void
}

const firstRetryMs = 1000

/**
 * Resolves a name now and then repeatedly: every `intervalMs` (±10 %); after a failure after 1 s, then twice as long
 * each time up to that. Returns a function that ends it.
 */
export const startDnsRefresh = (
  hostname: string,
  intervalMs: number,
  callbacks: DnsRefreshCallbacks,
  resolve: ResolveHostname = resolveHostname,
): (() => void) => {
  let known = ''
  let failing: string | null = null
  let retryMs = firstRetryMs

  const applyAddresses = (addresses: readonly LookupAddress[]): number => {
    const distinct = [...new Map(addresses.map((each) => [each.address, each])).values()]
    const set = distinct
      .map(({ address }) => address)
      .sort()
      .join()
    if (failing !== null || set !== known) callbacks.onResolved(distinct)
    known = set
    failing = null
    retryMs = firstRetryMs
    return intervalMs
  }
  const applyFailure = (reason: string): number => {
    if (reason !== failing) callbacks.onFailure(reason)
    failing = reason
    const waitMs = Math.min(retryMs, intervalMs)
    retryMs = waitMs * 2
    return waitMs
  }
  return repeatWithJitter(
    () =>
      resolve(hostname).then(
        (addresses) => () => (addresses.length === 0 ? applyFailure('it has no address') : applyAddresses(addresses)),
        (error: unknown) => () => applyFailure(describeUpstreamError(error)),
      ),
    0,
  )
}

/** Creates a lookup with a fixed result: one address first, the others for when it is not reachable (RFC 8305). */
export const preferredLookup =
  (first: LookupAddress, all: readonly LookupAddress[]): LookupFunction =>
  (_, options, callback) => {
    if (options.all !== true) return callback(null, first.address, first.family)
    callback(null, [first, ...all.filter(({ address }) => address !== first.address)])
  }
