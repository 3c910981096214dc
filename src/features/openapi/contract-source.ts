import {
  asPlainObject,
  escapeSegment,
  isPlainObject,
  type PlainObject,
  unescapeSegment,
} from '../../core/lib/plain-object.ts'
import { tryOrNull } from '../../core/lib/try.ts'
import type { Operation } from '../../operations.ts'
import { memberOf, withoutMembers } from './component-registry.ts'

/** Without a contract, everything is empty. */
export interface ContractSource {
  readonly info: PlainObject
  readonly components: PlainObject
  /** Null: the contract does not have the operation. */
  getOperation(operation: Operation): ContractOperation | null
  /** Follows a reference; null: it leads nowhere. Returns other values as they are. */
  resolve(value: unknown): PlainObject | null
  getTagDescription(name: string): string | null
}

export interface ContractOperation {
  readonly pathItem: PlainObject
  readonly operation: PlainObject
  readonly security: unknown
}

/**
 * `pathPrefix` precedes the paths in the merged document, and references follow. Other paths and methods, webhooks,
 * callbacks and links are left out: they are operations beyond the nine, or lead to some.
 */
export const openContract = (contract: unknown, pathPrefix: string): ContractSource => {
  const mapped = asPlainObject(
    mapReferences(contract, (reference) => {
      const [, path = '', rest = ''] = /^#\/paths\/([^/]*)(.*)$/.exec(reference) ?? []
      return path === '' ? reference : `#/paths/${escapeSegment(pathPrefix + unescapePointer(path))}${rest}`
    }),
  )
  const paths = Object.entries(asPlainObject(mapped.paths)).map(([path, item]) => [pathPrefix + path, item])
  const document: PlainObject = { ...mapped, paths: Object.fromEntries(paths) }
  const components = asPlainObject(document.components)
  const resolve = (value: unknown): PlainObject | null => resolveReference(document, value)

  return {
    info: asPlainObject(document.info),
    components: {
      ...withoutMembers(components, ['links', 'callbacks', 'pathItems']),
      ...(isPlainObject(components.responses) ? { responses: withoutLinks(components.responses) } : {}),
    },
    resolve,
    getOperation({ method, path }) {
      const item = resolve(memberOf(document.paths, pathPrefix + path))
      const operation = memberOf(item, method.toLowerCase())
      if (item === null || !isPlainObject(operation)) return null
      const pathItem = Object.fromEntries(sharedMembers.flatMap((name) => (name in item ? [[name, item[name]]] : [])))
      return { pathItem, operation, security: memberOf(operation, 'security') ?? document.security }
    },
    getTagDescription(name) {
      const tags = Array.isArray(document.tags) ? document.tags : []
      const description = memberOf(
        tags.find((tag) => memberOf(tag, 'name') === name),
        'description',
      )
      return typeof description === 'string' ? description : null
    },
  }
}

const sharedMembers = ['summary', 'description', 'parameters']

const withoutLinks = (responses: PlainObject): PlainObject =>
  Object.fromEntries(
    Object.entries(responses).map(([name, response]) => [name, withoutMembers(asPlainObject(response), ['links'])]),
  )

// A draft's notes on observed traffic, for the operator: clients must not see its volume.
const draftNotes = ['x-seen', 'x-null', 'x-range', 'x-length', 'x-items']

// In these, a member or a field may have the name of a note.
const namedMaps = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions', 'headers', 'schemas']

/** `isNamed`: the value is a map with names. */
const mapReferences = (value: unknown, map: (reference: string) => string, isNamed = false): unknown => {
  if (Array.isArray(value)) return value.map((entry) => mapReferences(entry, map))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      if (isNamed) return [[name, mapReferences(member, map)]]
      if (draftNotes.includes(name)) return []
      const isReference = name === '$ref' && typeof member === 'string'
      return [[name, isReference ? map(member) : mapReferences(member, map, namedMaps.includes(name))]]
    }),
  )
}

/** A longer chain is taken for a loop. */
const maxReferences = 32

const resolveReference = (document: PlainObject, value: unknown): PlainObject | null => {
  let found = value
  for (let hops = 0; hops < maxReferences && isPlainObject(found); hops++) {
    const { $ref } = found
    if (typeof $ref !== 'string') return found
    if (!$ref.startsWith('#/')) return null
    found = $ref.slice(2).split('/').map(unescapePointer).reduce(memberOf, document)
  }
  return null
}

// A pointer in a fragment is also percent-encoded (RFC 6901 §6).
const unescapePointer = (name: string): string => unescapeSegment(tryOrNull(() => decodeURIComponent(name)) ?? name)
