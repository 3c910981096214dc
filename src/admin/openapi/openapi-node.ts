import { isPlainObject } from '../../plain-object.ts'
/** An object of an OpenAPI document, as plain JSON. */
export interface OpenApiNode {
  readonly [key: string]: unknown
}

/** Returns a value that is an object, or else an empty one. */
export const asNode = (value: unknown): OpenApiNode => (isPlainObject(value) ? value : {})

/** Returns the member of an object by its name; undefined: the object has none of its own. */
export const memberOf = (node: unknown, name: string): unknown =>
  isPlainObject(node) && Object.hasOwn(node, name) ? node[name] : undefined

/** Copies an object without some of its members. */
export const withoutMembers = (node: OpenApiNode, names: readonly string[]): OpenApiNode =>
  Object.fromEntries(Object.entries(node).filter(([name]) => !names.includes(name)))
