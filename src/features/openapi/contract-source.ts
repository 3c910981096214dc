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

export type ContractSource = ReturnType<typeof openContract>

export interface ContractOperation {
  readonly pathItem: PlainObject
  readonly operation: PlainObject
}

/** `pathPrefix` precedes the paths in the merged document. Paths and methods beyond the nine are left out. */
export const openContract = (contract: unknown, pathPrefix: string) => {
  const mapped = asPlainObject(
    mapReferences(contract, (reference) => {
      const [, path = '', rest = ''] = /^#\/paths\/([^/]*)(.*)$/.exec(reference) ?? []
      return path === '' ? reference : `#/paths/${escapeSegment(pathPrefix + unescapePointer(path))}${rest}`
    }),
  )
  const paths = Object.entries(asPlainObject(mapped.paths)).map(([path, item]) => [pathPrefix + path, item])
  const document: PlainObject = { ...mapped, paths: Object.fromEntries(paths) }
  return {
    info: asPlainObject(document.info),
    components: withoutMembers(asPlainObject(document.components), ['pathItems']),
    resolve(value: unknown): PlainObject | null {
      const reference = memberOf(value, '$ref')
      const target =
        typeof reference === 'string'
          ? reference.split('/').slice(1).map(unescapePointer).reduce<unknown>(memberOf, document)
          : value
      return isPlainObject(target) ? target : null
    },
    getOperation({ method, path }: Operation): ContractOperation | null {
      const item = asPlainObject(memberOf(document.paths, pathPrefix + path))
      const operation = memberOf(item, method.toLowerCase())
      const pathItem = Object.fromEntries(sharedMembers.flatMap((name) => (name in item ? [[name, item[name]]] : [])))
      return isPlainObject(operation) ? { pathItem, operation } : null
    },
    getTagDescription(name: string): string | null {
      const tags = Array.isArray(document.tags) ? document.tags : []
      const tag = tags.find((each) => memberOf(each, 'name') === name)
      const description = memberOf(tag, 'description')
      return typeof description === 'string' ? description : null
    },
  }
}

const sharedMembers = ['summary', 'description', 'parameters']

// A draft's notes on observed traffic, for the operator: clients must not see its volume.
const draftNotes = ['x-seen', 'x-null', 'x-range', 'x-length', 'x-items']

// In these, a member or a field may have the name of a note.
const namedMaps = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions', 'headers', 'schemas']

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

// A pointer in a fragment is also percent-encoded (RFC 6901 §6).
const unescapePointer = (name: string): string => unescapeSegment(tryOrNull(() => decodeURIComponent(name)) ?? name)
