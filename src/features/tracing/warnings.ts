import { isLoopbackHost } from '../../core/config/loopback.ts'
import type { WarningRule } from '../../core/config/rules/rule.ts'

const unusedTracing: WarningRule = ({ config: { tracing } }) => {
  if (tracing === null || tracing.otlp !== null) return null
  if (tracing.serverTiming)
    return (
      tracing.headers.length > 0 && {
        path: ['tracing', 'headers'],
        message: 'this does nothing: no spans are sent',
        expected: 'tracing.otlp, or no headers',
        found: 'headers, and no otlp',
        hint: 'add otlp: http://localhost:4318/v1/traces, or remove headers',
      }
    )
  return {
    path: ['tracing'],
    message: 'this does nothing: nothing is sent, and no answer says how long it took',
    expected: 'otlp, serverTiming: true, or no tracing',
    found: 'neither',
    hint: 'add otlp: http://localhost:4318/v1/traces, or remove tracing',
  }
}

const plaintextHeaders: WarningRule = ({ config: { tracing } }) => {
  if (!tracing?.otlp || !tracing.headers.some(({ secret }) => secret)) return null
  const { protocol, hostname, origin } = new URL(tracing.otlp)
  return (
    protocol === 'http:' &&
    !isLoopbackHost(hostname) && {
      path: ['tracing', 'otlp'],
      message: 'secrets are sent in the clear: whoever is on the way can read tracing.headers',
      expected: 'https://, or a receiver on this machine',
      found: origin,
      hint: 'write https://, or send to a collector on this machine that goes on over TLS',
    }
  )
}

export const warnings: readonly WarningRule[] = [unusedTracing, plaintextHeaders]
