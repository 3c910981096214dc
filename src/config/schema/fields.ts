import * as z from 'zod'
import { type Effective, literal, Secret } from '../shown.ts'
import { isToken, tokenPattern } from './address.ts'
import { mark } from './facts.ts'
import { External, type Kind, scalar, Wrong } from './scalar.ts'
import { orNone } from './values.ts'

/** Frames the message or belongs to one connection: set by the gateway for each hop (RFC 9110 §7.6.1, RFC 9112 §6). */
const framing = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]

const forwarded = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']

/** Says which fields an operator may not edit in a direction, and what to do instead. */
function refuseField(name: string, direction: 'request' | 'response'): Wrong | undefined {
  const field = name.toLowerCase()
  if (!isToken(name) || field === '__proto__')
    return new Wrong('not a field name', 'RFC 9110 §5.6.2: letters, digits, -')
  if (field === 'host' && direction === 'request') {
    return new Wrong('Host is set by the gateway', 'use the host key of this group: endpoint, client or a name')
  }
  if (framing.includes(field)) return new Wrong(`${name} is set by the gateway for each connection`, 'remove this line')
  if (direction === 'request' && forwarded.includes(field)) {
    return new Wrong(`${name} is set by the gateway`, 'remove this line; see listen.trustedProxies')
  }
  return undefined
}

/** Reads the name of a field that requests carry; not one that would break framing or the hop-by-hop rules. */
const requestField = (example: string): Kind<string> => ({
  expected: `a field name such as ${example}`,
  read: (value) => {
    if (typeof value !== 'string') return new Wrong('wrong type')
    return refuseField(value, 'request') ?? (value.length > 128 ? new Wrong('too long') : value)
  },
  json: { type: 'string', pattern: tokenPattern, maxLength: 128 },
})

/** Reads the name of a field. */
export const fieldName = (description: string, example: string) => scalar(requestField(example), description)

/** Reads the name of a field in lower case, for what compares names. */
export const lowerFieldName = (description: string, example: string) => {
  const { read, ...kind } = requestField(example)
  const lower: Kind<string>['read'] = (value, whole) => {
    const name = read(value, whole)
    return name instanceof Wrong ? name : name.toLowerCase()
  }
  return scalar({ ...kind, read: lower }, description)
}

/** Reads the name of a field, or `none`/`false` for null: there is no such field. */
export const optionalFieldName = (description: string, example: string) =>
  scalar(orNone(requestField(example)), description)

/** A field that is set. */
export interface SetField {
  readonly name: string
  readonly value: string
  /** Whether its value is not shown: it came from outside the file, or its name says that it is a credential. */
  readonly secret: boolean
}

/** Names fields whose value is a credential even when it stands in the file itself. */
const sensitive = /auth|cookie|credential|key|pass|secret|session|signature|token/i

/** Reads a field value: a string, or what a `file:` reference or a variable holds. */
const fieldValue = mark(
  z
    .unknown()
    .transform((input, context): { readonly value: string; readonly external: boolean } => {
      const value = input instanceof External ? input.text : input
      const wrong =
        typeof value === 'string'
          ? refuseValue(value)
          : new Wrong('not a string', typeof value === 'object' ? undefined : 'put the value in quotes')
      if (wrong === undefined && typeof value === 'string') return { value, external: input instanceof External }
      const params = { expected: 'a field value in quotes, or file: and a path', hint: wrong?.hint }
      context.addIssue({ code: 'custom', message: wrong?.message ?? 'not a string', params })
      return z.NEVER
    })
    .meta({ description: 'The value, or file:PATH to read it from a file', type: 'string' }),
  { secret: true, file: 'line' },
)

/** RFC 9110 §5.5: no control characters but tab, and only what one byte can carry. */
function refuseValue(value: string): Wrong | undefined {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
    return new Wrong('a value with a control character or one beyond U+00FF', 'write it in one line of Latin-1')
  }
  if (/^[ \t]|[ \t]$/.test(value)) return new Wrong('a value with blanks around it', 'remove them')
  return undefined
}

// Servers take about a hundred fields, and each edit is looked for in every request.
const maxEdits = 100

/** Describes fields with their values; none that the gateway sets itself. `check` may refuse more of them. */
export const fieldValues = (
  direction: 'request' | 'response',
  description: string,
  check: (names: readonly string[], context: { readonly issues: z.core.$ZodRawIssue[] }) => void = () => {},
) => {
  const name = z.string().check((context) => {
    const wrong = refuseField(context.value, direction)
    if (wrong !== undefined) {
      const params = { expected: "a field name that is not the gateway's own", hint: wrong.hint }
      context.issues.push({ code: 'custom', message: wrong.message, params, input: context.value })
    }
  })
  const values = z
    .record(name.meta({ pattern: tokenPattern }), fieldValue)
    .check((context) => {
      check(Object.keys(context.value), context)
      if (Object.keys(context.value).length <= maxEdits) return
      const params = { expected: `at most ${maxEdits}`, hint: 'an upstream takes hardly more fields than that' }
      context.issues.push({ code: 'custom', message: 'too many fields', params, input: context.value })
    })
    .meta({ description, maxProperties: maxEdits })
  const write = (fields: readonly SetField[]): Effective =>
    Object.fromEntries(fields.map(({ name, value, secret }) => [name, secret ? new Secret(value) : literal(value)]))
  return mark(values.transform(setFields), { unquoted: true, write })
}

const setFields = (values: Readonly<Record<string, z.output<typeof fieldValue>>>): readonly SetField[] =>
  Object.entries(values).map(([name, { value, external }]) => ({
    name,
    value,
    secret: external || sensitive.test(name),
  }))

/** Describes what is changed in the fields of one direction: `remove` first, then `set`. */
export const fieldEdits = (direction: 'request' | 'response') => {
  const removed = scalar<string>(
    {
      expected: "a field name that is not the gateway's own",
      read: (value) => (typeof value === 'string' ? (refuseField(value, direction) ?? value) : new Wrong('wrong type')),
      json: { type: 'string', pattern: tokenPattern },
    },
    'A field name; case does not matter',
  )
  return mark(
    z
      .strictObject({
        set: fieldValues(direction, 'Fields to set; one that is there already is replaced').prefault({}),
        remove: mark(z.array(removed).max(maxEdits).meta({ description: 'Fields to remove' }), {
          unquoted: true,
        }).prefault([]),
      })
      .meta({ description: `Changes to the fields of each ${direction}: remove first, then set` }),
    { unquoted: true },
  ).prefault({})
}
