import { asPlainObject, isPlainObject, ownMember } from '../../../core/lib/plain-object.ts'
import type { JsonType } from '../check/compiled-contract.ts'
import { asItems, type Tree } from './contract-node.ts'
import type { FollowReference } from './schema-keywords.ts'

interface SchemaTypes {
  /** `number`: also numbers that are no integer. */
  readonly types: ReadonlySet<JsonType>
  readonly never: string | null
}

const all: readonly JsonType[] = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']

const anyType: SchemaTypes = { types: new Set(all), never: null }

/** Any value may match a `faulty` schema. */
export const analyzeTypes = (follow: FollowReference, faulty: Iterable<object> = []) => {
  const known = new Map<object, SchemaTypes>([...faulty].map((schema) => [schema, anyType]))

  /** A missing type can never match; a listed type may still not match. */
  const typesOf = (schema: unknown): SchemaTypes => {
    if (schema === false) return { types: new Set(), never: 'it is false' }
    if (!isPlainObject(schema)) return anyType
    const found = known.get(schema)
    if (found !== undefined) return found
    known.set(schema, anyType) // a reference may lead back
    const types = compute(schema)
    known.set(schema, types)
    return types
  }
  const contradictions = (schema: Tree): readonly Contradiction[] =>
    findContradictions(schema, (sub) => typesOf(sub).never !== null)

  const compute = (schema: Tree): SchemaTypes => {
    let types = anyType.types
    const reasons: string[] = []
    const narrow = (allowed: Iterable<JsonType>, reason: string): void => {
      const kept = new Set(allowed)
      const next = new Set([...types].filter((type) => kept.has(type)))
      if (next.size < types.size) reasons.push(reason)
      types = next
    }
    if (schema.type !== undefined) narrow(statedTypes(schema.type), 'type')
    if (schema.const !== undefined) narrow([typeOf(schema.const)], 'const')
    if (Array.isArray(schema.enum)) narrow(schema.enum.map(typeOf), 'enum')
    if (typeof schema.$ref === 'string') narrow(typesOf(follow(schema.$ref)).types, 'the schema of $ref')
    for (const each of asItems(schema.allOf)) narrow(typesOf(each).types, 'allOf')
    for (const key of ['anyOf', 'oneOf']) {
      const branches = schema[key]
      if (Array.isArray(branches)) narrow(new Set(branches.flatMap((each) => [...typesOf(each).types])), key)
    }
    if (isNegation(schema)) narrow([], 'not')
    for (const { type, message } of contradictions(schema))
      narrow(
        [...types].filter((each) => !type.includes(each)),
        message,
      )
    return { types, never: types.size > 0 ? null : describeReasons(reasons) }
  }
  return { typesOf, contradictions }
}

/** `not: {}` is another way to write false, for a member that must not be there. */
export const isNegation = ({ not }: Tree): boolean =>
  not === true || (isPlainObject(not) && Object.keys(not).length === 0)

const describeReasons = (reasons: readonly string[]): string => {
  const [last = 'it'] = reasons.slice(-1)
  if (last.includes(' ')) return last
  const distinct = [...new Set(reasons)]
  return distinct.length === 1 ? `${last} leaves no value` : `${distinct.join(' and ')} exclude each other`
}

const statedTypes = (stated: unknown): readonly JsonType[] =>
  [stated]
    .flat()
    .flatMap((type) => (type === 'number' ? (['integer', 'number'] as const) : all.filter((each) => each === type)))

const typeOf = (value: unknown): JsonType => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value === 'boolean' ? 'boolean' : typeof value === 'string' ? 'string' : 'object'
}

interface Contradiction {
  readonly type: readonly JsonType[]
  readonly message: string
  readonly keyword: string
}

const numeric: readonly JsonType[] = ['integer', 'number']

const pairs: readonly (readonly [least: string, most: string, type: readonly JsonType[], isOpen: boolean])[] = [
  ['minimum', 'maximum', numeric, false],
  ['exclusiveMinimum', 'maximum', numeric, true],
  ['minimum', 'exclusiveMaximum', numeric, true],
  ['exclusiveMinimum', 'exclusiveMaximum', numeric, true],
  ['minLength', 'maxLength', ['string'], false],
  ['minItems', 'maxItems', ['array'], false],
  ['minContains', 'maxContains', ['array'], false],
  ['minProperties', 'maxProperties', ['object'], false],
]

const findContradictions = (schema: Tree, neverMatches: (sub: unknown) => boolean): readonly Contradiction[] => {
  const found: Contradiction[] = []
  for (const [least, most, type, isOpen] of pairs) {
    const [from, to] = [schema[least], schema[most]]
    if (typeof from !== 'number' || typeof to !== 'number') continue
    if (from > to || (isOpen && from === to)) found.push({ type, message: `${least} is above ${most}`, keyword: least })
  }
  const properties = asPlainObject(schema.properties)
  const required = asItems(schema.required).filter((name) => typeof name === 'string')
  if (typeof schema.maxProperties === 'number' && new Set(required).size > schema.maxProperties)
    found.push({ type: ['object'], message: 'required names more than maxProperties allows', keyword: 'required' })
  const isClosed =
    schema.additionalProperties === false && Object.keys(asPlainObject(schema.patternProperties)).length === 0
  for (const name of required) {
    const member = ownMember(properties, name)
    if (member === undefined && isClosed)
      found.push({ type: ['object'], message: 'a required member is not allowed', keyword: 'required' })
    else if (member !== undefined && neverMatches(member))
      found.push({ type: ['object'], message: 'a required member can never match', keyword: 'required' })
  }
  const tuple = asItems(schema.prefixItems).length
  if (schema.items === false && typeof schema.minItems === 'number' && schema.minItems > tuple)
    found.push({ type: ['array'], message: 'minItems is above the length of prefixItems', keyword: 'minItems' })
  return found
}
