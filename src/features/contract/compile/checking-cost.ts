import { isPlainObject } from '../../../core/lib/plain-object.ts'
import type { Tree } from './contract-node.ts'
import type { FollowReference } from './schema-types.ts'
import { subSchemas } from './schema-walk.ts'

export const maxChecksInPlace = 5_000

/**
 * Computes how many schemas hold for a value by themselves, without its members and items. Schemas that lead to
 * themselves in place are found before.
 */
export const checksInPlace = (schema: unknown, follow: FollowReference): number => {
  // Each schema follows those that lead to it: its count is complete when it is passed on.
  const order = new Set<Tree>()
  const visit = (each: unknown): void => {
    if (!isPlainObject(each) || order.has(each)) return
    for (const next of schemasInPlace(each, follow)) visit(next)
    order.add(each)
  }
  visit(schema)
  const counts = new Map<unknown, number>([[schema, 1]])
  let total = 0
  for (const each of [...order].reverse()) {
    const count = counts.get(each) ?? 0
    total += count
    for (const next of schemasInPlace(each, follow)) counts.set(next, (counts.get(next) ?? 0) + count)
  }
  return total
}

const inPlaceKeywords = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas'])

const schemasInPlace = (schema: Tree, follow: FollowReference): readonly unknown[] => [
  ...(typeof schema.$ref === 'string' ? [follow(schema.$ref)] : []),
  ...subSchemas(schema).flatMap(({ schema: each, keyword }) => (inPlaceKeywords.has(keyword) ? [each] : [])),
]

/** Finds the schemas that lead to themselves without a member or an item between: checking them would never end. */
export const findCirclesInPlace = (schemas: readonly unknown[], follow: FollowReference): ReadonlySet<Tree> => {
  const found = new Set<Tree>()
  const done = new Set<Tree>()
  const open = new Set<Tree>()
  const visit = (schema: unknown): void => {
    if (!isPlainObject(schema) || done.has(schema)) return
    if (open.has(schema)) {
      found.add(schema)
      return
    }
    open.add(schema)
    for (const next of schemasInPlace(schema, follow)) visit(next)
    open.delete(schema)
    done.add(schema)
  }
  for (const schema of schemas) visit(schema)
  return found
}
