import { isPlainObject, ownMember, type PlainObject } from '../../core/lib/plain-object.ts'
/** Returns the member of an object by its name; undefined: the object has none of its own. */
export const memberOf = (node: unknown, name: string): unknown =>
  isPlainObject(node) ? ownMember(node, name) : undefined

export const withoutMembers = (node: PlainObject, names: readonly string[]): PlainObject =>
  Object.fromEntries(Object.entries(node).filter(([name]) => !names.includes(name)))
