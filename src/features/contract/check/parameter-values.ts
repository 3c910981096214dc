import type { Violation } from '../../../core/exchange/failures/errors.ts'
import { foldUnderscores, type HeaderFields, listFields, trimBlanks } from '../../../core/exchange/header-fields.ts'
import { escapeSegment, ownMember } from '../../../core/lib/plain-object.ts'
import { tryOrNull } from '../../../core/lib/try.ts'
import type { JsonType, ParameterContract } from './compiled-contract.ts'
import { parseStrictJson } from './strict-json.ts'
import { type ContractValidators, maxViolations, shorten } from './validators.ts'

export const checkParameters = (
  contracts: readonly ParameterContract[],
  validators: ContractValidators,
  query: string,
  fields: HeaderFields,
  violations: Violation[],
  laterFields?: ReadonlySet<string>,
): void => {
  if (contracts.length === 0) return
  validators.beginHead()
  const inQuery = parseQuery(query)
  if (inQuery === null) violations.push({ pointer: '', in: 'query', ...brokenEncoding })
  for (const contract of contracts) {
    if (contract.in === 'query') {
      if (inQuery !== null) checkParameter(contract, validators, readQueryParameter(contract, inQuery), violations)
    } else {
      const read = readHeaderParameter(contract, fields)
      if (read === absent && laterFields?.has(contract.name) === true) continue
      checkParameter(contract, validators, read, violations)
    }
    if (violations.length < maxViolations) continue
    violations.length = maxViolations
    return
  }
}

const checkParameter = (
  { name, in: place, required, types, schema }: ParameterContract,
  validators: ContractValidators,
  value: ParameterValue,
  violations: Violation[],
): void => {
  const pointer = shorten(`/${escapeSegment(name)}`)
  if (typeof value === 'symbol') {
    const fault = value === absent && !required ? undefined : faults[value]
    if (fault !== undefined) violations.push({ pointer, in: place, ...fault })
  } else if (schema !== null) {
    const options = { prefix: pointer }
    const found = validators.validate(schema, value, place, options)
    if (found.length === 0) return
    // A schema without `type` (`enum: [1, 2]`) may mean another type than a string.
    const isOther = types.length === 0 && typeof value === 'string'
    const typed = isOther ? toTyped(value, scalarTypes) : value
    if (typed === value || validators.validate(schema, typed, place, options).length > 0) violations.push(...found)
  }
}

const scalarTypes: readonly JsonType[] = ['number', 'boolean', 'null']

const broken: unique symbol = Symbol('encoding')
const duplicate: unique symbol = Symbol('duplicate-parameter')
const mixedItems: unique symbol = Symbol('array-items')
const notJson: unique symbol = Symbol('json')

export const absent: unique symbol = Symbol('absent')

/** Not checked: an allowed empty value, or an object whose members are unknown. */
export const emptyParameter: unique symbol = Symbol('empty')

const brokenEncoding = { rule: 'encoding', detail: 'the percent-encoding is broken (RFC 3986 §2.1)' }
const faults: Readonly<Record<symbol, { readonly rule: string; readonly detail: string }>> = {
  [broken]: brokenEncoding,
  [duplicate]: { rule: 'duplicate-parameter', detail: 'the parameter must be sent once' },
  [mixedItems]: {
    rule: 'array-items',
    detail: 'the items of an array are written in one way: a=1&a=2, a[]=1&a[]=2, or a[0]=1&a[1]=2 without a gap',
  },
  [notJson]: { rule: 'json', detail: 'the value must be JSON' },
  [absent]: { rule: 'required', detail: 'the parameter is required' },
}

/** A JSON value, or a symbol above. */
type ParameterValue = unknown

type QueryParameters = ReadonlyMap<string, readonly string[]>

/** Values stay raw, since their separators count first. */
export const parseQuery = (query: string): QueryParameters | null => {
  const parameters = new Map<string, string[]>()
  for (const pair of query.slice(1).split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decodeForm(at === -1 ? pair : pair.slice(0, at))
    if (name === null) return null
    const values = parameters.get(name)
    const value = at === -1 ? '' : pair.slice(at + 1)
    if (values === undefined) parameters.set(name, [value])
    else values.push(value)
  }
  return parameters
}

/** OpenAPI 3.1 §4.8.12.2. */
export const readQueryParameter = (parameter: ParameterContract, parameters: QueryParameters): ParameterValue => {
  const { name, style, explode, allowsEmpty, types, itemTypes, memberTypes } = parameter
  if (style === 'deepObject') return readDeepObject(parameter, parameters)
  if (explode && types.includes('object') && style !== 'json') {
    const known = Object.keys(memberTypes)
    // The object's members cannot be distinguished from other parameters.
    if (known.length === 0) return emptyParameter
    return readMembers(
      known.map((member) => [member, parameters.get(member)] as const),
      (member, values) => {
        if (values === undefined) return absent
        return values.length > 1 ? duplicate : decodeTyped(values[0] ?? '', typesOfMember(parameter, member))
      },
    )
  }
  const values = parameters.get(name)
  if (values === undefined) return absent
  if (explode && types.includes('array')) return decodeItems(itemTypes, values)
  const [value = ''] = values
  if (values.length > 1) return duplicate
  if (allowsEmpty && value === '') return emptyParameter
  const parts = value === '' ? [] : value.split(separators[style])
  if (types.includes('array')) return decodeItems(itemTypes, parts)
  if (types.includes('object') && style !== 'json') return readPairs(parameter, parts, decodeForm)
  const text = decodeForm(value)
  return text === null ? broken : readText(parameter, text)
}

const separators: Readonly<Record<ParameterContract['style'], string | RegExp>> = {
  form: ',',
  simple: ',',
  spaceDelimited: /%20|\+| /,
  pipeDelimited: /\||%7C/i,
  deepObject: ',',
  json: ',',
}

export const readHeaderParameter = (parameter: ParameterContract, fields: HeaderFields): ParameterValue => {
  const values = getFoldedValues(fields, foldUnderscores(parameter.name))
  if (values.length === 0) return absent
  const { style, types, itemTypes } = parameter
  if (style !== 'json' && (types.includes('array') || types.includes('object'))) {
    // RFC 6265 §3: the lines of Set-Cookie are no list, and their dates have commas.
    const isLines = parameter.name === 'set-cookie'
    const parts = isLines ? values : values.flatMap((value) => value.split(',')).map(trimBlanks)
    if (!types.includes('array')) return readPairs(parameter, withoutEmptyNames(parameter, parts), (text) => text)
    return parts.filter(isNotEmpty).map((part) => toTyped(part, itemTypes))
  }
  const isSeveral = values.length > 1 && !listFields.has(parameter.name)
  return isSeveral ? duplicate : readText(parameter, values.join(', '))
}

// RFC 9110 §5.6.1.2: a recipient ignores the empty elements of a list.
const isNotEmpty = (part: string): boolean => part !== ''

/** Keeps empty values: `a,,b,2` is an `a` without text, and then a `b`. */
const withoutEmptyNames = ({ explode }: ParameterContract, parts: readonly string[]): readonly string[] => {
  if (explode) return parts.filter(isNotEmpty)
  const kept: string[] = []
  for (const part of parts) if (part !== '' || kept.length % 2 === 1) kept.push(part)
  return kept
}

/** Includes fields that a CGI-like upstream takes for the same. */
const getFoldedValues = (fields: HeaderFields, folded: string): readonly string[] => {
  const values: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (name.length === folded.length && foldUnderscores(name) === folded) values.push(fields[i + 1] as string)
  }
  return values
}

const readText = ({ style, types }: ParameterContract, text: string): ParameterValue => {
  if (style !== 'json') return toTyped(text, types)
  const parsed = parseStrictJson(Buffer.from(text))
  return 'fault' in parsed ? notJson : parsed.value
}

const decodeTyped = (raw: string, types: readonly JsonType[]): ParameterValue => {
  const text = decodeForm(raw)
  return text === null ? broken : toTyped(text, types)
}

const decodeItems = (itemTypes: readonly JsonType[], raw: readonly string[]): ParameterValue => {
  const items: unknown[] = []
  for (const item of raw) {
    const read = decodeTyped(item, itemTypes)
    if (read === broken) return broken
    items.push(read)
  }
  return items
}

type DeepMember = Map<string | undefined, readonly string[]>

/**
 * OpenAPI leaves arrays in deepObject open (3.1 §4.8.12.3), and three ways are usual: `p[a]=1&p[a]=2` as in the style
 * form, `p[a][]=1` for PHP and Rails, `p[a][0]=1` by qs and axios.
 */
const readDeepObject = (parameter: ParameterContract, parameters: QueryParameters): ParameterValue => {
  const { name, memberTypes } = parameter
  const found = new Map<string, DeepMember>()
  for (const [each, values] of parameters) {
    if (!each.startsWith(`${name}[`) || !each.endsWith(']')) continue
    let member = each.slice(name.length + 1, -1)
    let index: string | undefined
    const end = Object.hasOwn(memberTypes, member) ? -1 : member.indexOf('][')
    if (end !== -1 && typesOfMember(parameter, member.slice(0, end)).includes('array')) {
      index = member.slice(end + 2)
      member = member.slice(0, end)
    }
    const known = found.get(member)
    if (known === undefined) found.set(member, new Map([[index, values]]))
    else known.set(index, values)
  }
  return readMembers(found, (member, values) => readDeepMember(parameter, member, values))
}

const readDeepMember = (parameter: ParameterContract, member: string, spelled: DeepMember): ParameterValue => {
  const types = typesOfMember(parameter, member)
  const plain = spelled.get(undefined)
  const isArray = types.includes('array')
  if (plain?.length === 1 && spelled.size === 1) {
    const read = decodeTyped(plain[0] ?? '', types)
    if (!isArray || typeof read !== 'string' || types.includes('string')) return read
  } else if (!isArray) return duplicate
  const { memberItemTypes = {}, otherItemTypes = [] } = parameter
  const itemTypes = ownMember(memberItemTypes, member) ?? otherItemTypes
  const listed = plain ?? spelled.get('')
  if (listed !== undefined && spelled.size === 1) return decodeItems(itemTypes, listed)
  const raw: string[] = []
  for (let index = 0; index < spelled.size; index++) {
    const [item, ...others] = spelled.get(String(index)) ?? []
    // Readers differ in how they read gaps, repeated indexes, and two ways at once.
    if (item === undefined || others.length > 0) return mixedItems
    raw.push(item)
  }
  return decodeItems(itemTypes, raw)
}

const readPairs = (parameter: ParameterContract, parts: readonly string[], toText: (raw: string) => string | null) => {
  const pairs = parameter.explode ? parts.flatMap(splitPair) : parts
  const members = new Map<string, unknown>()
  for (let i = 0; i < pairs.length; i += 2) {
    const [name, text] = [toText(pairs[i] ?? ''), toText(pairs[i + 1] ?? '')]
    if (name === null || text === null) return broken
    if (members.has(name)) return duplicate
    members.set(name, toTyped(text, typesOfMember(parameter, name)))
  }
  return Object.fromEntries(members)
}

const splitPair = (part: string): readonly [string, string] => {
  const at = part.indexOf('=')
  return at === -1 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
}

const readMembers = <T>(
  members: Iterable<readonly [name: string, raw: T]>,
  read: (name: string, raw: T) => ParameterValue,
): ParameterValue => {
  const values: [string, unknown][] = []
  for (const [name, raw] of members) {
    const member = read(name, raw)
    if (typeof member !== 'symbol') values.push([name, member])
    else if (member !== absent) return member
  }
  return values.length === 0 ? absent : Object.fromEntries(values)
}

const typesOfMember = ({ memberTypes, otherMemberTypes }: ParameterContract, name: string): readonly JsonType[] =>
  ownMember(memberTypes, name) ?? otherMemberTypes

/** A text that fits no type stays a text. */
const toTyped = (text: string, types: readonly JsonType[]): unknown => {
  if (types.length === 0 || types.includes('string')) return text
  if ((types.includes('integer') || types.includes('number')) && jsonNumber.test(text)) return Number(text)
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return types.includes('null') && text === '' ? null : text
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** `+` is a space. Null: the percent-encoding is broken. */
export const decodeForm = (raw: string): string | null => {
  if (!raw.includes('%') && !raw.includes('+')) return raw
  return tryOrNull(() => decodeURIComponent(raw.replaceAll('+', ' ')))
}
