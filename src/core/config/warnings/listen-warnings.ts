import { cidrMatcher } from '../../lib/net/cidr.ts'
import type { WarningRule } from '../rules/rule.ts'

const unusedForwarded: WarningRule = ({ config: { listen } }) =>
  listen.forwarded !== 'x-forwarded' &&
  listen.trustedProxies.length === 0 && {
    path: ['listen', 'forwarded'],
    message: 'nobody is believed what Forwarded says',
    expected: 'the addresses of the proxies in listen.trustedProxies',
    found: 'no trustedProxies',
    hint: 'add trustedProxies under listen, or remove forwarded',
  }

const trustedLoadBalancers: WarningRule = ({ config: { listen } }) => {
  const from = listen.proxyProtocol?.from ?? []
  const isTrusted = cidrMatcher(listen.trustedProxies)
  // Of two networks that overlap, one has the first address of the other.
  const trustedWithin = listen.trustedProxies.map(firstAddress).filter(cidrMatcher(from))
  return from.map(
    (cidr, nth) =>
      (isTrusted(firstAddress(cidr)) || trustedWithin.some(cidrMatcher([cidr]))) && {
        path: ['listen', 'proxyProtocol', 'from', nth],
        message: 'listen.trustedProxies has this one too, and is asked about the address in its header',
        expected: 'trustedProxies that stand in front of this load balancer',
        found: cidr,
        hint: 'leave it in trustedProxies only where its clients are proxies of the same network',
      },
  )
}

const firstAddress = (cidr: string): string => cidr.split('/')[0] ?? ''

export const listenWarnings: readonly WarningRule[] = [unusedForwarded, trustedLoadBalancers]
