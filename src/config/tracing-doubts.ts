import type { Config } from './config.ts'
import type { Finding } from './problem.ts'
import { isLoopback } from './reach.ts'

/** Lists what is doubtful about what is told of exchanges. */
export const tracingDoubts = ({ tracing }: Config): readonly Finding[] => {
  if (tracing === null) return []
  const { otlp, headers, serverTiming } = tracing
  if (otlp === null && !serverTiming) return [idle]
  if (otlp === null) return headers.length > 0 ? [unsent] : []
  return headers.some(({ secret }) => secret) && isReadOnTheWay(otlp) ? [readable(new URL(otlp))] : []
}

const isReadOnTheWay = (url: string): boolean => {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !isLoopback(hostname)
}

const idle: Finding = {
  path: ['tracing'],
  message: 'this does nothing: nothing is sent, and no answer says how long it took',
  expected: 'otlp, serverTiming: true, or no tracing',
  found: 'neither',
  hint: 'add otlp: http://localhost:4318/v1/traces, or remove tracing',
}

const unsent: Finding = {
  path: ['tracing', 'headers'],
  message: 'this does nothing: no spans are sent',
  expected: 'tracing.otlp, or no headers',
  found: 'headers, and no otlp',
  hint: 'add otlp: http://localhost:4318/v1/traces, or remove headers',
}

const readable = ({ origin }: URL): Finding => ({
  path: ['tracing', 'otlp'],
  message: 'secrets are sent in the clear: whoever is on the way can read tracing.headers',
  expected: 'https://, or a receiver on this machine',
  found: origin,
  hint: 'write https://, or send to a collector on this machine that goes on over TLS',
})
