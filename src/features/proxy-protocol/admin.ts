import type { AdminPart } from '../../core/admin/admin-part.ts'
import type { FailureReason } from '../../core/exchange/failures/errors.ts'

// Caused by load balancers, not clients: only a load balancer's connection waits for a header.
const loadBalancerReasons: ReadonlySet<FailureReason | null> = new Set([
  'no-proxy-header',
  'bad-proxy-header',
  'proxy-header-too-slow',
] as const)

export const describeClientErrors: NonNullable<AdminPart['describeClientErrors']> = (reason, { listen }) => {
  if (loadBalancerReasons.has(reason)) return { senders: 'listen.proxyProtocol' }
  return reason === 'proxy-header' && listen.proxyProtocol === null ? { note: ', which is off' } : null
}
