import type { AdminContext } from '../../core/admin/admin-context.ts'
import type { AdminError } from '../../core/admin/admin-error.ts'
import { maxTtlMs } from '../../core/admin/commands/apply-override.ts'
import { describeSide } from '../../core/exchange/sides.ts'
import { epochMs } from '../../core/lib/clock.ts'
import { formatOptionalTime } from '../../core/lib/text/format-time.ts'
import { formatDuration } from '../../core/lib/text/units.ts'
import { allOperations, type Group } from '../../operations.ts'
import { type EndpointState, otherTakers } from './endpoint-states.ts'

/**
 * Rejects the drain of a side's last healthy endpoint, and of the last one that takes requests for as long. All
 * endpoints of a candidate may be drained, unless its clients' requests would then fail.
 */
export const rejectLastEndpoint = (
  context: AdminContext,
  group: Group,
  targets: readonly EndpointState[],
  endpoints: readonly EndpointState[],
  ttlMs: number,
): AdminError | null => {
  const until = epochMs() + ttlMs
  const lasting = endpoints.filter(({ readyUntil }) => readyUntil === null || readyUntil >= until)
  const last = targets.find(
    (target) => servesClients(context, group, target) && isLastTaker(target, otherTakers(lasting, target), until),
  )
  if (last === undefined) return null
  const { side, url } = last
  const takers = otherTakers(endpoints, last)
  const idle = endpoints.filter((each) => each.side === side && each.url !== url && !each.takesWork)
  const unavailable = [
    ...takers.map(({ url: other, outage, readyUntil }) =>
      outage === null ? `${other} takes work only until ${formatOptionalTime(readyUntil)}` : `${other} is ${outage}`,
    ),
    ...idle.filter(({ hasWeight }) => !hasWeight).map((each) => `${each.url} has weight 0`),
  ]
  const brief = takers.find(({ outage }) => outage === null)
  const drained = brief ?? idle.find(({ hasWeight }) => hasWeight)
  const longer =
    drained?.drainedByFile === true && ttlMs < maxTtlMs ? `, with a --ttl above ${formatDuration(ttlMs)}` : ''
  const ready = drained === undefined ? '' : ` (endpoint ready ${group} ${drained.url}${longer})`
  const less = brief === undefined ? '' : ', drain this one for a shorter time'
  const rejections = allOperations.flatMap((row) => (row.group === group ? [`operation reject ${row.id}`] : []))
  const instead =
    side === 'primary'
      ? `take its operations out of service (${rejections.join('; ')})`
      : `take its clients back (shift ${group} --abort)`
  return lastEndpoint(
    `no other endpoint of ${describeSide(group, side)} takes work${unavailable.length === 0 ? '' : ` (${unavailable.join(', ')})`}: make another one ready first${ready}${less}, add one in the file, or ${instead}`,
  )
}

/** Rejects a shorter time in service if its side would then have no endpoint until another endpoint's drain ends. */
export const rejectEarlyEnd = (
  context: AdminContext,
  group: Group,
  targets: readonly EndpointState[],
  endpoints: readonly EndpointState[],
  ttlMs: number,
): AdminError | null => {
  const until = epochMs() + ttlMs
  for (const target of targets) {
    const { side, url, readyUntil } = target
    const drained = endpoints.filter((each) => each.side === side && each.url !== url && each.drainUntil !== null)
    if (drained.length === 0 || readyUntil === null || until >= readyUntil) continue
    const back = Math.min(...drained.map(({ drainUntil }) => drainUntil ?? 0))
    const others = otherTakers(endpoints, target)
    const isSpared = others.some((each) => each.readyUntil === null || each.readyUntil >= back)
    if (until >= back || isSpared || !servesClients(context, group, target)) continue
    return lastEndpoint(
      `no other endpoint of ${describeSide(group, side)} takes work until ${formatOptionalTime(back)}, when a drain ends: give this command a --ttl that lasts until then, or end that drain first (endpoint ready)`,
    )
  }
  return null
}

const lastEndpoint = (detail: string): AdminError => ({ status: 409, code: 'last-endpoint', detail })

/** Whether clients' requests fail when no endpoint of the side takes work. */
const servesClients = (
  { reloader, overrides, findClients }: AdminContext,
  group: Group,
  { side }: EndpointState,
): boolean => side === 'primary' || findClients(group, reloader.config, overrides).others === 'exposed'

const isLastTaker = (
  { takesWork, drainUntil, outage }: EndpointState,
  others: readonly EndpointState[],
  until: number,
): boolean =>
  takesWork && outage === null
    ? others.every((other) => other.outage !== null)
    : others.length === 0 && (takesWork || (drainUntil !== null && drainUntil < until))
