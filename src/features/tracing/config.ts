import type * as z from 'zod'
import type { Config } from '../../core/config/config.ts'
import type { ConfigSection } from '../../core/config/config-part.ts'
import type { WarningRule } from '../../core/config/rules/rule.ts'
import { annotate, optionalKey, renderValue } from '../../core/config/schema/annotations.ts'
import { fieldValues } from '../../core/config/schema/header-fields.ts'
import { optionalPolicy } from '../../core/config/schema/inheritance.ts'
import { scalar } from '../../core/config/schema/scalar.ts'
import { InvalidScalar, patternKind, type ScalarKind, textParser } from '../../core/config/schema/scalar-kind.ts'
import { boolean, map, percent } from '../../core/config/schema/scalar-types.ts'
import { isLoopbackHost } from '../../core/lib/net/addresses.ts'

const example = 'http://localhost:4318/v1/traces'

/** Credentials belong into `headers`, which no command shows. */
const tracesUrlKind: ScalarKind<string> = {
  expected: `the whole URL of an OTLP/HTTP receiver of traces, such as ${example}`,
  parse: textParser((value) => {
    const parsed = URL.parse(value)
    if (parsed === null || !/^https?:\/\/[^/]/i.test(value)) return new InvalidScalar('not a URL', `write ${example}`)
    const instead = 'send credentials with tracing.headers and file: instead'
    if (parsed.username !== '' || parsed.password !== '')
      return new InvalidScalar('a URL with a user name or a password', instead)
    if (parsed.search !== '' || parsed.hash !== '')
      return new InvalidScalar('a URL with a query or a fragment', 'remove it; keys go under tracing.headers')
    if (parsed.pathname === '/') return new InvalidScalar('a URL without a path', `write ${parsed.origin}/v1/traces`)
    return parsed.href
  }),
  json: { type: 'string', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\\\\\s]+/[^?#\\\\\\s]+$' },
}

const protocolFields = /^(content-.*|user-agent)$/i

const headers = fieldValues(
  'request',
  'Fields that are sent there, besides those of the protocol',
  (names, { issues }) => {
    const params = { expected: 'a field that is not of the protocol', hint: 'remove this line' }
    for (const name of names.filter((each) => protocolFields.test(each)))
      issues.push({ code: 'custom', message: `${name} is set by the gateway`, params, path: [name], input: '' })
  },
)

const serviceNameKind = patternKind(
  '1 to 128 visible characters',
  '^[\\x21-\\x7e]{1,128}$',
  'not a name',
  'letters, digits and -_./',
)

interface TracingValue {
  readonly otlp: string | null
  readonly serverTiming: boolean
}

const policy = map(
  'Spans of exchanges and attempts, in OpenTelemetry',
  {
    otlp: optionalKey(scalar('Where spans are posted to: OTLP/HTTP in protobuf', tracesUrlKind)),
    headers: headers.prefault({}),
    sample: percent('The share of the traces begun here that is sent; others go by what their parent says').prefault(
      '1%',
    ),
    serviceName: scalar('What the gateway is called there: service.name', serviceNameKind).prefault('lender-gateway'),
    serverTiming: boolean('Whether responses say how long they took, in Server-Timing').prefault(false),
  },
  { redundantKeys: ({ otlp }: TracingValue) => (otlp === null ? ['headers', 'sample', 'serviceName'] : []) },
)

const tracingSchema = annotate(optionalPolicy(policy, `{ otlp: ${example} }`), {
  render: (value: TracingValue | null) =>
    value === null || (value.otlp === null && !value.serverTiming) ? 'none' : renderValue(policy, value),
})

export type TracingConfig = NonNullable<Config['tracing']>

declare module '../../core/config/config.ts' {
  interface ParsedConfig {
    readonly tracing: z.output<typeof tracingSchema>
  }
}

export const sections: readonly ConfigSection[] = [
  { key: 'tracing', after: 'log', schema: tracingSchema.prefault('none') },
]

const unusedTracing: WarningRule = ({ config: { tracing } }) => {
  if (tracing === null || tracing.otlp !== null) return null
  const hint = `add otlp: ${example}, or remove`
  if (!tracing.serverTiming)
    return {
      path: ['tracing'],
      message: 'this does nothing: nothing is sent, and no response says how long it took',
      expected: 'otlp, serverTiming: true, or no tracing',
      found: 'neither',
      hint: `${hint} tracing`,
    }
  if (tracing.headers.length === 0) return null
  const message = 'this does nothing: no spans are sent'
  const expected = 'tracing.otlp, or no headers'
  return { path: ['tracing', 'headers'], message, expected, found: 'headers, and no otlp', hint: `${hint} headers` }
}

const plaintextHeaders: WarningRule = ({ config: { tracing } }) => {
  if (!tracing?.otlp || !tracing.headers.some(({ secret }) => secret)) return null
  const { protocol, hostname, origin } = new URL(tracing.otlp)
  return (
    protocol === 'http:' &&
    !isLoopbackHost(hostname) && {
      path: ['tracing', 'otlp'],
      message: 'secrets are sent in the clear: the network between can read tracing.headers',
      expected: 'https://, or a receiver on this machine',
      found: origin,
      hint: 'write https://, or send to a collector on this machine that forwards over TLS',
    }
  )
}

export const warnings: readonly WarningRule[] = [unusedTracing, plaintextHeaders]
