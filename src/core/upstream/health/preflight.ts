import type { Group, Side } from '../../../operations.ts'
import type { EndpointConfig, UpstreamConfig } from '../../config/config.ts'
import { errorMessage } from '../../exchange/failures/error-message.ts'
import { settlesWithin } from '../../lib/clock.ts'
import { tryOutside } from '../../lib/try.ts'
import { checkReachable, maxCheckMs } from './check-reachable.ts'

export interface PreflightTarget {
  readonly group: Group
  readonly side: Side
  readonly name: string
  /** Rejects with the reason why it is not reachable, for operators. */
  reach(): Promise<void>
}

export interface ConfiguredEndpoint {
  readonly group: Group
  readonly side: Side
  readonly endpoint: EndpointConfig
  readonly upstream: UpstreamConfig
}

export const toPreflightTarget = (
  { group, side, endpoint: { origin, pathPrefix }, upstream }: ConfiguredEndpoint,
  mode: 'connect' | 'health',
): PreflightTarget => ({
  group,
  side,
  name: origin + pathPrefix,
  reach: () => checkReachable(origin, upstream, mode),
})

/** The result of a check; null: the endpoint is reachable. */
interface PreflightResult extends Omit<PreflightTarget, 'reach'> {
  readonly reason: string | null
}

export interface UnreachableUpstream {
  readonly group: Group
  readonly side: Side
  readonly endpoints: readonly { readonly name: string; readonly reason: string }[]
}

// One reachable endpoint suffices, and nearly always the first few are. To connect to hundreds at once holds up the
// process that serves meanwhile.
const firstBatchSize = 4
const headStartMs = 200

/** Checks all at once, each for at most 2 s, and a silent one once more: this machine may have been busy. */
export const checkAll = (targets: readonly PreflightTarget[]): Promise<readonly PreflightResult[]> =>
  Promise.all(targets.map((target) => checkOne(target, true)))

/**
 * Lists the upstreams without a reachable endpoint. Of each a few endpoints are checked, then all, until one is
 * reachable, each for at most 2 s.
 */
export const findUnreachableUpstreams = async (
  targets: readonly PreflightTarget[],
): Promise<readonly UnreachableUpstream[]> => {
  const upstreams = [...Map.groupBy(targets, ({ group, side }) => `${group} ${side}`).values()]
  const results = await Promise.all(upstreams.map(checkUpstream))
  return results.filter((each) => each !== null)
}

const checkUpstream = async (own: readonly PreflightTarget[]): Promise<UnreachableUpstream | null> => {
  const [{ group, side }] = own as readonly [PreflightTarget, ...PreflightTarget[]]
  const first = own.slice(0, firstBatchSize).map((target) => checkOne(target))
  if (await isAnyReachable(first, own.length > firstBatchSize ? headStartMs : null)) return null
  const all = [...first, ...own.slice(firstBatchSize).map((target) => checkOne(target))]
  if (await isAnyReachable(all, null)) return null
  const endpoints = (await Promise.all(all)).map(({ name, reason }) => ({ name, reason: reason ?? '' }))
  return { group, side, endpoints }
}

/** Resolves as soon as one is reachable, or when none is; `waitMs` null waits for all. */
const isAnyReachable = async (
  results: readonly Promise<PreflightResult>[],
  waitMs: number | null,
): Promise<boolean> => {
  let isReachable = false
  const firstReachable = Promise.any(
    results.map(async (each) => {
      if ((await each).reason !== null) throw new Error('not there')
      isReachable = true
    }),
  ).catch(() => {}) // none is
  if (waitMs === null) await firstReachable
  else await settlesWithin(waitMs, firstReachable)
  return isReachable
}

const checkOne = async (
  { group, side, name, reach }: PreflightTarget,
  repeatsSilent = false,
): Promise<PreflightResult> => {
  let reason: string | null = null
  await tryOutside(reach, { waitMs: maxCheckMs, repeatsSilent }).catch((error: unknown) => {
    reason = errorMessage(error)
  })
  return { group, side, name, reason }
}
