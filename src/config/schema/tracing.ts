import * as z from 'zod'
import { mark, optional, written } from './facts.ts'
import { fieldValues } from './fields.ts'
import { orOff } from './levels.ts'
import { type Kind, scalar, Wrong } from './scalar.ts'
import { boolean, percent } from './values.ts'

const example = 'http://localhost:4318/v1/traces'

/** Reads the URL that spans are posted to. What proves who sends them stands in `headers`, where it is not shown. */
const tracesUrl: Kind<string> = {
  expected: `the whole URL of an OTLP/HTTP receiver of traces, such as ${example}`,
  read: (value) => {
    if (typeof value !== 'string') return new Wrong('wrong type')
    const parsed = URL.parse(value)
    if (parsed === null || !/^https?:\/\/[^/]/i.test(value)) return new Wrong('not a URL', `write ${example}`)
    if (parsed.username !== '' || parsed.password !== '')
      return new Wrong(
        'a URL with a user name or a password',
        'send credentials with tracing.headers and file: instead',
      )
    if (parsed.search !== '' || parsed.hash !== '')
      return new Wrong('a URL with a query or a fragment', 'remove it; keys go under tracing.headers')
    if (parsed.pathname === '/') return new Wrong('a URL without a path', `write ${parsed.origin}/v1/traces`)
    return parsed.href
  },
  json: { type: 'string', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\\\\\s]+/[^?#\\\\\\s]+$' },
}

// Of the protocol: what is posted is described by them.
const ofTheProtocol = /^(content-.*|user-agent)$/i

const headers = fieldValues(
  'request',
  'Fields that are sent there, besides those of the protocol',
  (names, { issues }) => {
    const params = { expected: 'a field that is not of the protocol', hint: 'remove this line' }
    for (const name of names.filter((each) => ofTheProtocol.test(each)))
      issues.push({ code: 'custom', message: `${name} is set by the gateway`, params, path: [name], input: '' })
  },
)

const serviceName: Kind<string> = {
  expected: '1 to 128 visible characters',
  read: (value) => {
    if (typeof value !== 'string') return new Wrong('wrong type')
    return /^[\x21-\x7e]{1,128}$/.test(value) ? value : new Wrong('not a name', 'letters, digits and -_./')
  },
  json: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$' },
}

interface Stated {
  readonly otlp: string | null
  readonly serverTiming: boolean
}

const policy = mark(
  z
    .strictObject({
      otlp: optional(scalar(tracesUrl, 'Where spans are posted to: OTLP/HTTP in protobuf')),
      headers: headers.prefault({}),
      sample: percent('The share of the traces begun here that is sent; others go by what their parent says').prefault(
        '1%',
      ),
      serviceName: scalar(serviceName, 'What the gateway is called there: service.name').prefault('lender-gateway'),
      serverTiming: boolean('Whether answers say how long they took, in Server-Timing').prefault(false),
    })
    .meta({ description: 'Spans of exchanges and attempts, in OpenTelemetry' }),
  { idle: ({ otlp }: Stated) => (otlp === null ? ['headers', 'sample', 'serviceName'] : []) },
)

/** Describes what is told of exchanges beyond the log. */
export const tracingSchema = mark(orOff(policy, `{ otlp: ${example} }`), {
  write: (value: Stated | null) =>
    value === null || (value.otlp === null && !value.serverTiming) ? 'none' : written(policy, value),
})
