import { asPlainObject, isPlainObject, ownMember } from '../../../../core/lib/plain-object.ts'
import { asItems, type Tree } from '../contract-node.ts'
import {
  combining,
  createFollow,
  type FollowReference,
  listParts,
  mapSubSchemas,
  schemaKeywords,
  subSchemas,
} from '../schema-keywords.ts'
import { type BundledDocument, chooseComponentName, componentSection, type TreeCopy } from './object-shapes.ts'

export type OpenApiVersion = '3.0' | '3.1' | '3.2'

interface UpgradedSchema {
  readonly schema: Tree
  readonly lost: readonly string[]
}

export const toSchemaOf31 = (given: Tree, version: OpenApiVersion): UpgradedSchema => {
  if (version === '3.0') return upgradeSchema(given)
  return { schema: version === '3.2' ? withoutNewAnnotations(given) : given, lost: [] }
}

// Annotations check nothing.
const withoutNewAnnotations = (given: Tree): Tree => {
  const { defaultMapping: _, ...discriminator } = asPlainObject(given.discriminator)
  const { nodeType: __, ...xml } = asPlainObject(given.xml)
  return {
    ...given,
    ...(isPlainObject(given.discriminator) && { discriminator }),
    ...(isPlainObject(given.xml) && { xml }),
  }
}

/** OpenAPI 3.0 §4.7.24. */
const upgradeSchema = (given: Tree): UpgradedSchema => {
  // OpenAPI 3.0 ignores what stands beside a reference.
  if (typeof given.$ref === 'string') {
    const lost = Object.keys(given).filter((key) => key !== '$ref' && !key.startsWith('x-'))
    return { schema: { $ref: given.$ref }, lost: lost.map((key) => `${key} beside $ref`) }
  }
  const { nullable, ...rest } = given
  const schema: Record<string, unknown> = rest
  const lost: string[] = []
  if (nullable === true && typeof schema.type === 'string') schema.type = [schema.type, 'null']
  else if (nullable === true) lost.push('nullable without type')
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[flag] !== 'boolean') continue
    if (schema[flag] === true && schema[bound] !== undefined) {
      schema[flag] = schema[bound]
      delete schema[bound]
    } else delete schema[flag]
  }
  if (schema.example !== undefined) {
    schema.examples = [schema.example]
    delete schema.example
  }
  return { schema, lost }
}

export const oneWayKeywords = ['readOnly', 'writeOnly'] as const

export type OneWayKeyword = (typeof oneWayKeywords)[number]

/**
 * Removes `readOnly` members from `required` in requests, and `writeOnly` members in responses (OpenAPI 3.0.3, Schema
 * Object; in 3.1 both check nothing). Components that both directions use get a copy: `Asset-request`.
 */
export const splitOneWayMembers = (open: BundledDocument, keyword: OneWayKeyword): void => {
  const splitter = createSplitter(open, keyword)
  const owners = schemaOwners(open.document, keyword).filter(({ schema }) => isPlainObject(schema))
  for (const { schema } of owners) splitter.visit(schema)
  splitter.markUsers()
  for (const owner of owners) owner.schema = splitter.copyOf(owner.schema)
}

const schemaOwners = (document: Tree, keyword: OneWayKeyword): readonly TreeCopy[] => {
  const components = asPlainObject(document.components)
  const items = valuesOf(document.paths).map(asPlainObject)
  const operations = items.flatMap((item) => Object.values(item).map(asPlainObject))
  const isRequest = keyword === 'readOnly'
  const sections = isRequest ? ['parameters', 'requestBodies'] : ['responses', 'headers']
  const shared = sections.flatMap((section) => valuesOf(components[section]))
  const own = [...items, ...operations].flatMap(({ parameters, requestBody, responses }) =>
    isRequest ? [...asItems(parameters), requestBody] : valuesOf(responses),
  )
  const objects = [...shared, ...own]
  return [...objects, ...objects.flatMap((each) => valuesOf(asPlainObject(each).headers))].flatMap((each) =>
    [each, ...valuesOf(asPlainObject(each).content)].filter(isPlainObject),
  )
}

const valuesOf = (map: unknown): readonly unknown[] => Object.values(asPlainObject(map))

interface Use {
  readonly schema: Tree
  readonly released: ReadonlySet<string>
  readonly users: Use[]
  isChanged: boolean
  copy?: TreeCopy
  component?: string
}

const createSplitter = (open: BundledDocument, keyword: OneWayKeyword) => {
  const follow = createFollow(open.document)
  const membersOf = createMembersOf(follow, keyword)
  const uses = new Map<Tree, Map<string, Use>>()

  /** `released`: names that a schema around this one no longer requires. */
  const visit = (schema: unknown, released: Iterable<string> = []): Use | null => {
    if (!isPlainObject(schema)) return null
    const marked = [...membersOf(schema)].flatMap(([name, isMarked]) => (isMarked ? [name] : []))
    const required = new Set(listParts(schema, follow).flatMap((part) => namesIn(part.required)))
    const names = [...new Set([...released, ...marked])].filter((name) => required.has(name)).toSorted()
    const known = uses.get(schema) ?? new Map<string, Use>()
    uses.set(schema, known)
    const key = JSON.stringify(names)
    const found = known.get(key)
    if (found !== undefined) return found
    const use: Use = { schema, released: new Set(names), users: [], isChanged: false }
    known.set(key, use)
    use.isChanged = namesIn(schema.required).some((name) => use.released.has(name))
    for (const inner of subSchemas(schema)) visitInner(use, inner.keyword, inner.schema)?.users.push(use)
    if (typeof schema.$ref === 'string') visit(follow(schema.$ref), names)?.users.push(use)
    return use
  }
  const visitInner = ({ released }: Use, name: string, schema: unknown): Use | null => {
    // With fewer required names, the negated schema would match more values.
    if (name === 'not' || name === 'if') return null
    return visit(schema, combining.includes(name) ? released : [])
  }

  const copyOf = (schema: unknown, use: Use | null = visit(schema)): unknown => {
    if (use === null || !use.isChanged) return schema
    if (use.copy !== undefined) return use.copy
    const copy: TreeCopy = { ...use.schema }
    use.copy = copy
    const origin = open.origins.get(use.schema)
    if (origin !== undefined) open.origins.set(copy, origin)
    if (open.faulty.has(use.schema)) open.faulty.add(copy)
    const required = namesIn(copy.required)
    if (required.some((name) => use.released.has(name)))
      copy.required = required.filter((name) => !use.released.has(name))
    if (typeof copy.$ref === 'string') copy.$ref = placeOf(copy.$ref, use.released)
    for (const [name, value] of Object.entries(use.schema))
      if (ownMember(schemaKeywords, name) !== 'any')
        copy[name] = mapSubSchemas(name, value, (inner) => copyOf(inner, visitInner(use, name, inner)))
    return copy
  }
  const placeOf = (reference: string, released: Iterable<string>): string => {
    const use = visit(follow(reference), released)
    const origin = use && open.origins.get(use.schema)
    if (!use?.isChanged || !origin) return reference
    if (use.component === undefined) {
      const section = componentSection(open.document, 'schemas')
      use.component = chooseComponentName(origin, section, keyword === 'readOnly' ? '-request' : '-response')
      section[use.component] = true // it may refer to itself
      section[use.component] = copyOf(use.schema, use)
    }
    return `#/components/schemas/${use.component}`
  }

  const markUsers = (): void => {
    const changed = [...uses.values()].flatMap((each) => [...each.values()]).filter(({ isChanged }) => isChanged)
    for (let use = changed.pop(); use !== undefined; use = changed.pop())
      for (const user of use.users)
        if (!user.isChanged) {
          user.isChanged = true
          changed.push(user)
        }
  }
  return { visit, markUsers, copyOf }
}

const createMembersOf = (follow: FollowReference, keyword: OneWayKeyword) => {
  const found = new Map<Tree, ReadonlyMap<string, boolean>>()

  const membersOf = (schema: unknown): ReadonlyMap<string, boolean> => {
    const members = new Map<string, boolean>()
    if (!isPlainObject(schema)) return members
    const known = found.get(schema)
    if (known !== undefined) return known
    found.set(schema, members) // a reference may lead back
    const add = (name: string, isMarked: boolean): void => {
      members.set(name, isMarked || members.get(name) === true)
    }
    for (const [name, member] of Object.entries(asPlainObject(schema.properties))) add(name, isMarked(member))
    const parts = [...asItems(schema.allOf), ...(typeof schema.$ref === 'string' ? [follow(schema.$ref)] : [])]
    for (const part of parts) for (const [name, isMarked] of membersOf(part)) add(name, isMarked)
    for (const either of ['anyOf', 'oneOf']) {
      const branches = asItems(schema[either]).map(membersOf)
      const names = new Set(branches.flatMap((each) => [...each.keys()]))
      const isMarkedIn = (name: string): boolean => branches.every((each) => each.get(name) !== false)
      for (const name of names) add(name, isMarkedIn(name))
    }
    return members
  }
  const isMarked = (member: unknown, seen = new Set<unknown>()): boolean => {
    if (!isPlainObject(member) || seen.has(member)) return false
    seen.add(member)
    if (member[keyword] === true) return true
    if (typeof member.$ref === 'string' && isMarked(follow(member.$ref), seen)) return true
    if (asItems(member.allOf).some((each) => isMarked(each, seen))) return true
    return ['anyOf', 'oneOf'].some((either) => {
      const branches = asItems(member[either])
      return branches.length > 0 && branches.every((each) => isMarked(each, seen))
    })
  }
  return membersOf
}

/** The meta-schema reports a value of another form. */
const namesIn = (required: unknown): readonly string[] => {
  const names = asItems(required)
  return names.every((each) => typeof each === 'string') ? names : []
}
