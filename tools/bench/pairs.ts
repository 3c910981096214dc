/** Says which peers are compared, and what the project holds itself to. */

export interface Pair {
  /** Whose CPU time per request … */
  readonly of: string
  /** … is divided by whose. */
  readonly over: string
  /** The largest ratio that is good enough, by workload; where none is set the ratio is only printed. */
  readonly atMost: Readonly<Record<string, number>>
}

const small = (limit: number): Pair['atMost'] => ({ get: limit, post: limit })

export const pairs: readonly Pair[] = [
  { of: 'gateway', over: 'gateway-before', atMost: {} },
  { of: 'gateway', over: 'bare', atMost: small(0.36) },
  { of: 'gateway', over: 'bare-direct', atMost: small(0.5) },
  { of: 'gateway', over: 'caddy', atMost: small(0.65) },
  { of: 'gateway', over: 'nginx', atMost: { get: 2.1, post: 2.5, 'response-1m': 1.1 } },
  { of: 'gateway', over: 'nginx-memory', atMost: { 'post-64k': 2 } },
  { of: 'gateway', over: 'haproxy', atMost: {} },
  { of: 'gateway', over: 'httpxy', atMost: {} },
  { of: 'gateway', over: 'socket-floor', atMost: {} },
  { of: 'gateway', over: 'node-floor', atMost: {} },
  { of: 'node-floor', over: 'nginx', atMost: {} },
  { of: 'node-floor', over: 'bare', atMost: {} },
  { of: 'node-h2-floor', over: 'nginx-h2', atMost: {} },
  { of: 'gateway-h2', over: 'node-h2-floor', atMost: {} },
  { of: 'socket-floor', over: 'nginx', atMost: {} },
  { of: 'socket-floor', over: 'bare', atMost: {} },
  { of: 'gateway', over: 'gateway-uncounted', atMost: small(1.05) },
  { of: 'gateway-traced', over: 'gateway', atMost: small(1.1) },
  { of: 'gateway-policies', over: 'gateway', atMost: small(1.05) },
  { of: 'gateway-cache', over: 'nginx-cache', atMost: { cached: 1.25 } },
  { of: 'gateway-cache', over: 'gateway-cache-before', atMost: {} },
  { of: 'gateway-cache', over: 'gateway', atMost: {} },
  { of: 'gateway-cache', over: 'node-cache', atMost: {} },
  { of: 'node-cache', over: 'nginx-cache', atMost: {} },
  { of: 'gateway-tls', over: 'nginx-tls', atMost: small(3.4) },
  { of: 'gateway-tls', over: 'haproxy-tls', atMost: {} },
  { of: 'gateway-tls', over: 'gateway', atMost: {} },
  { of: 'gateway-h2', over: 'nginx-h2', atMost: small(2) },
  { of: 'gateway-h2', over: 'haproxy-h2', atMost: {} },
  { of: 'gateway-h2', over: 'gateway-h2-node', atMost: {} },
  {
    of: 'gateway-h2',
    over: 'gateway-h2-before',
    atMost: { get: 0.58, post: 0.56, 'post-64k': 0.7, 'response-1m': 0.95 },
  },
  { of: 'gateway-tls', over: 'gateway-tls-before', atMost: small(1) },
  { of: 'gateway-h2', over: 'gateway-tls', atMost: {} },
  { of: 'gateway-workers', over: 'gateway', atMost: small(1.1) },
]
