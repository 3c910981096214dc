import { type LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { CoalescedTimer, now, repeatWithJitter } from '../../lib/clock.ts'
import { describeUpstreamError } from '../classify-error.ts'

// A lookup holds one of the four threads that also read files; with silent name servers, for many seconds. If lookups
// held all four, no edit would be noticed, just when an operator reroutes around the outage.
const maxActive = 2
// Leaves one lookup free for a name that an edit adds.
const maxSlowActive = 1
const slowMs = 1000
const maxWaitMs = 10_000

const running = new Map<string, Promise<readonly LookupAddress[]>>()
const pending = new Map<string, () => void>()
const slow = new Set<string>()
let activeCount = 0
let slowActiveCount = 0

/**
 * Uses the hosts file and a container's search domains (`dns.resolve` asks only name servers). Rejects with the
 * system's error, or EAI_AGAIN after 10 s in the queue.
 */
export const resolveHostname = (hostname: string): Promise<readonly LookupAddress[]> => {
  const shared = running.get(hostname)
  if (shared !== undefined) return shared
  const lookedUp = enqueue(hostname).finally(() => running.delete(hostname))
  running.set(hostname, lookedUp)
  return lookedUp
}

export const lookupHostname: LookupFunction = (hostname, options, callback) => {
  resolveHostname(hostname).then(
    (addresses) => {
      const [first] = addresses
      if (options.all === true) callback(null, [...addresses])
      else callback(null, first?.address ?? '', first?.family ?? 0)
    },
    (error: NodeJS.ErrnoException) => callback(error, ''),
  )
}

const enqueue = (hostname: string): Promise<readonly LookupAddress[]> =>
  new Promise((resolve, reject) => {
    const timeout = new CoalescedTimer(() => {
      pending.delete(hostname)
      reject(Object.assign(new Error('10 s without a free lookup'), { code: 'EAI_AGAIN' }))
    })
    timeout.set(maxWaitMs)
    pending.set(hostname, () => {
      timeout.clear()
      resolve(resolveNow(hostname))
    })
    startNext()
  })

const startNext = (): void => {
  for (const [hostname, start] of pending) {
    if (activeCount >= maxActive) return
    if (slow.has(hostname) && slowActiveCount >= maxSlowActive) continue
    pending.delete(hostname)
    start()
  }
}

const resolveNow = async (hostname: string): Promise<readonly LookupAddress[]> => {
  const startedAt = now()
  const wasSlow = slow.delete(hostname)
  activeCount++
  if (wasSlow) slowActiveCount++
  try {
    return await new Promise((resolve, reject) => {
      lookup(hostname, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)))
    })
  } finally {
    if (now() - startedAt >= slowMs) slow.add(hostname)
    activeCount--
    if (wasSlow) slowActiveCount--
    startNext()
  }
}

interface DnsRefreshCallbacks {
  /** Called the first time, on a change, and when the name resolves again. */
  onResolved(addresses: readonly LookupAddress[]): void
  onFailure(reason: string): void
}

const firstRetryMs = 1000

/**
 * Resolves now and every `intervalMs` (±10 %); after a failure in 1 s, doubling up to `intervalMs`. Returns the end.
 */
export const startDnsRefresh = (
  hostname: string,
  intervalMs: number,
  callbacks: DnsRefreshCallbacks,
  resolve = resolveHostname,
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

/** RFC 8305: the other addresses are the fallback. */
export const preferredLookup =
  (first: LookupAddress, all: readonly LookupAddress[]): LookupFunction =>
  (_, options, callback) => {
    if (options.all !== true) return callback(null, first.address, first.family)
    callback(null, [first, ...all.filter(({ address }) => address !== first.address)])
  }
