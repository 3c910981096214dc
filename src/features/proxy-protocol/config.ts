import type * as z from 'zod'
import type { ListenKey } from '../../core/config/config-part.ts'
import type { WarningRule } from '../../core/config/rules/rule.ts'
import { cidrOrAddress } from '../../core/config/schema/address.ts'
import { optionalKey } from '../../core/config/schema/annotations.ts'
import { choice, list, map } from '../../core/config/schema/scalar-types.ts'
import { cidrMatcher } from '../../core/lib/net/addresses.ts'

const proxyProtocolSchema = map('Who the client is, by the PROXY protocol, version 1 or 2', {
  from: list(
    'Load balancers whose connections begin with a PROXY protocol header, and no others',
    cidrOrAddress('An IP address or a CIDR'),
    { min: 1, max: 1000 },
  ),
  scheme: choice('What clients speak with a load balancer whose header does not say it', ['http', 'https']).prefault(
    'http',
  ),
})

declare module '../../core/config/config.ts' {
  interface ParsedListen {
    readonly proxyProtocol: z.output<typeof proxyProtocolSchema> | null
  }
}

export const listenKeys: readonly ListenKey[] = [
  { key: 'proxyProtocol', after: 'overrideFields', schema: optionalKey(proxyProtocolSchema) },
]

const trustedLoadBalancers: WarningRule = ({ config: { listen } }) => {
  const from = listen.proxyProtocol?.from ?? []
  const isTrusted = cidrMatcher(listen.trustedProxies)
  // Of two overlapping networks, one contains the first address of the other.
  const trustedWithin = listen.trustedProxies.map(firstAddress).filter(cidrMatcher(from))
  return from.map(
    (cidr, nth) =>
      (isTrusted(firstAddress(cidr)) || trustedWithin.some(cidrMatcher([cidr]))) && {
        path: ['listen', 'proxyProtocol', 'from', nth],
        message:
          'listen.trustedProxies has this address too, and is matched with the client address in the PROXY header, not with the load balancer',
        expected: 'trustedProxies that stand in front of this load balancer',
        found: cidr,
        hint: 'leave it in trustedProxies only where its clients are proxies of the same network',
      },
  )
}

const firstAddress = (cidr: string): string => cidr.split('/')[0] ?? ''

export const warnings: readonly WarningRule[] = [trustedLoadBalancers]
