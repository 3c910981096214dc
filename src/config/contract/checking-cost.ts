import { isPlainObject } from '../../plain-object.ts'
import type { Tree } from './contract-node.ts'
import type { FollowReference } from './schema-types.ts'
import { subSchemas } from './schema-walk.ts'

/** The largest number of schemas that hold for one value by themselves. */
export const maxChecksInPlace = 5_000

/** The schemas that one place is checked against, with how often. */
type Counts = Map<Tree, number>

/** Computes how many schemas hold for a value by themselves, without its members and items. */
export const checksInPlace = (schema: unknown, follow: FollowReference): number =>
  isPlainObject(schema) ? total(expandInPlace(new Map([[schema, 1]]), follow)) : 0

const total = (counts: Counts): number => [...counts.values()].reduce((sum, count) => sum + count, 0)

const add = (counts: Counts, schema: unknown, count: number): void => {
  if (isPlainObject(schema)) counts.set(schema, (counts.get(schema) ?? 0) + count)
}

/** Adds the schemas that hold for the same place. Schemas that lead to themselves in place are found before. */
const expandInPlace = (place: Counts, follow: FollowReference): Counts => {
  // Each schema follows those that lead to it: its count is complete when it is passed on.
  const order: Tree[] = []
  const done = new Set<Tree>()
  const visit = (schema: Tree): void => {
    if (done.has(schema)) return
    done.add(schema)
    for (const next of schemasInPlace(schema, follow)) if (isPlainObject(next)) visit(next)
    order.push(schema)
  }
  for (const schema of place.keys()) visit(schema)
  const counts: Counts = new Map(place)
  for (const schema of order.reverse())
    for (const next of schemasInPlace(schema, follow)) add(counts, next, counts.get(schema) ?? 0)
  return counts
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
