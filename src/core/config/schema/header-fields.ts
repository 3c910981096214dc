import * as z from 'zod'
import {
  foldUnderscores,
  httpTokenPattern,
  isFieldValue,
  isHopByHop,
  isHttpToken,
  namesCredential,
} from '../../exchange/header-fields.ts'
import { annotate, escapePlaceholders, type RenderedValue, Secret } from './annotations.ts'
import { scalar } from './scalar.ts'
import { ExternalValue, InvalidScalar, refineKind, type ScalarKind, textParser } from './scalar-kind.ts'
import { keySchema, list, map, orNone, reject } from './scalar-types.ts'

// They frame a message, or the gateway sets them. Hop-by-hop fields (RFC 9110 §7.6.1) are rejected as well.
const perHopFields = ['content-length', 'expect', 'host', 'via']
const forwarded = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']

export type EditDirection = 'request' | 'response'

/** CGI-like back ends read X_Forwarded_For as X-Forwarded-For, so an edit of a request covers both spellings. */
export const foldEditedName = (name: string, direction: EditDirection): string =>
  direction === 'request' ? foldUnderscores(name) : name.toLowerCase()

function rejectField(name: string, direction: EditDirection): InvalidScalar | undefined {
  const field = foldEditedName(name, direction)
  if (!isHttpToken(name) || name === '__proto__')
    return new InvalidScalar('not a field name', 'RFC 9110 §5.6.2: letters, digits, -')
  if (field === 'host' && direction === 'request')
    return new InvalidScalar('Host is set by the gateway', 'use the host key of this group: endpoint, client or a name')
  if (perHopFields.includes(field) || isHopByHop(field))
    return new InvalidScalar(`${name} is set by the gateway for each connection`, 'remove this line')
  if (direction === 'request' && forwarded.includes(field))
    return new InvalidScalar(`${name} is set by the gateway`, 'remove this line; see listen.trustedProxies')
  return undefined
}

const editedFieldKind = (direction: EditDirection): ScalarKind<string> => ({
  expected: "a field name that is not the gateway's own",
  parse: (value) =>
    typeof value === 'string' ? (rejectField(value, direction) ?? value) : new InvalidScalar('wrong type'),
  json: { type: 'string', pattern: httpTokenPattern },
})

export const requestFieldKind = (example: string): ScalarKind<string> => ({
  expected: `a field name such as ${example}`,
  parse: textParser(
    (value) => rejectField(value, 'request') ?? (value.length > 128 ? new InvalidScalar('too long') : value),
  ),
  json: { type: 'string', pattern: httpTokenPattern, maxLength: 128 },
})

export const fieldName = (description: string, example: string) => scalar(description, requestFieldKind(example))

export const lowerFieldName = (description: string, example: string) => {
  const kind = refineKind(requestFieldKind(example), (name) => name.toLowerCase())
  return scalar(description, kind)
}

export const optionalFieldName = (description: string, example: string) =>
  scalar(description, orNone(requestFieldKind(example)))

const fieldValue = annotate(
  z
    .unknown()
    .transform((input, context): { readonly value: string; readonly external: boolean } => {
      const value = input instanceof ExternalValue ? input.text : input
      const wrong =
        typeof value === 'string'
          ? rejectValue(value)
          : new InvalidScalar('not a string', typeof value === 'object' ? undefined : 'put the value in quotes')
      if (wrong === undefined && typeof value === 'string') return { value, external: input instanceof ExternalValue }
      const params = { expected: 'a field value in quotes, or file: and a path', hint: wrong?.hint }
      context.addIssue({ code: 'custom', message: wrong?.message ?? 'not a string', params })
      return z.NEVER
    })
    .meta({ description: 'The value, or file:PATH to read it from a file', type: 'string' }),
  { secret: true, file: 'line' },
)

/** RFC 9110 §5.5: no control characters but tab, no characters beyond one byte. */
function rejectValue(value: string): InvalidScalar | undefined {
  if (!isFieldValue(value))
    return new InvalidScalar(
      'a value with a control character or a character above U+00FF',
      'write it in one line of Latin-1',
    )
  if (/^[ \t]|[ \t]$/.test(value)) return new InvalidScalar('a value with blanks around it', 'remove them')
  return undefined
}

// Servers accept about 100 fields, and each edit searches every request.
const maxMutations = 100

export const fieldValues = (
  direction: EditDirection,
  description: string,
  check: (names: readonly string[], context: { readonly issues: z.core.$ZodRawIssue[] }) => void = () => {},
) => {
  const values = z
    .record(keySchema(editedFieldKind(direction)).meta({ pattern: httpTokenPattern }), fieldValue)
    .check((context) => {
      const names = Object.keys(context.value)
      check(names, context)
      rejectTwins(names, direction, context)
      if (names.length <= maxMutations) return
      reject(context, 'too many fields', `at most ${maxMutations}`, 'few upstreams accept more fields')
    })
    .meta({ description, maxProperties: maxMutations })
  const configured = values.transform((fields) => toConfiguredFields(fields, direction))
  const render = (fields: z.output<typeof configured>): RenderedValue =>
    Object.fromEntries(
      fields.map(({ name, value, hidden }) => [name, hidden ? new Secret(value) : escapePlaceholders(value)]),
    )
  return annotate(configured, { sensitive: true, render })
}

/** Rejects a field in two spellings: the message would carry it twice. */
const rejectTwins = (names: readonly string[], direction: EditDirection, context: z.core.ParsePayload): void => {
  const seen = new Set<string>()
  for (const name of names) {
    const folded = foldEditedName(name, direction)
    if (seen.has(folded))
      reject(context, 'this field is listed twice, in two spellings', 'each once', 'remove one of them', [name])
    seen.add(folded)
  }
}

// These fields authenticate nothing. Vendors name other fields freely (`X-Honeycomb-Team`, `X-Tenant`): any may be a
// key.
const harmlessRequestFields: ReadonlySet<string> = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'cache-control', 'content-language'],
  ...['content-type', 'date', 'dnt', 'from', 'max-forwards', 'origin', 'pragma', 'prefer', 'priority', 'referer'],
  ...['user-agent', 'x-forwarded-port', 'x-forwarded-prefix'],
])

/** `secret`: a credential. `hidden`: not shown, because the request field is not known to be harmless. */
const toConfiguredFields = (
  values: Readonly<Record<string, z.output<typeof fieldValue>>>,
  direction: EditDirection,
): readonly { readonly name: string; readonly value: string; readonly secret: boolean; readonly hidden: boolean }[] =>
  Object.entries(values).map(([name, { value, external }]) => {
    const secret = external || namesCredential(name)
    const isShown = direction === 'response' || harmlessRequestFields.has(name.toLowerCase())
    return { name, value, secret, hidden: secret || !isShown }
  })

export const headerMutationSchema = (direction: EditDirection) => {
  const removed = scalar('A field name; case does not matter', editedFieldKind(direction))
  return map(
    `Changes to the fields of each ${direction}: remove first, then set`,
    {
      set: fieldValues(direction, 'Fields to set; one that is there already is replaced').prefault({}),
      remove: list('Fields to remove', removed, { max: maxMutations, sensitive: true }).prefault([]),
    },
    { sensitive: true },
  ).prefault({})
}
