import { asItems, asTree, isTree, type Tree } from './contract-node.ts'
import type { FollowReference } from './schema-types.ts'
import { subSchemas } from './schema-walk.ts'

/** The largest number of schemas that one place of a value may be checked against without a count at run time. */
export const maxFreeChecks = 64

/** The largest number of schemas that hold for one value by themselves. */
export const maxChecksInPlace = 5_000

/** The schemas that one place is checked against, with how often. */
type Counts = Map<Tree, number>

// What takes longer to compute counts as not bounded.
const maxWork = 200_000

/** Computes how many schemas hold for a value by themselves, without its members and items. */
export const checksInPlace = (schema: unknown, follow: FollowReference): number =>
  isTree(schema) ? total(expandInPlace(new Map([[schema, 1]]), follow)) : 0

/**
 * Tells whether no place of a value is checked against more than {@link maxFreeChecks} schemas. Two branches of `anyOf`
 * that lead to the same schema one level deeper double the checks with each level: a body of a few hundred bytes would
 * take years. Every branch is taken to be tried, so the result errs on one side. It follows the places that a value can
 * have: two members that share a schema are two places, and cost nothing more.
 */
export const areChecksBounded = (schemas: Iterable<unknown>, follow: FollowReference): boolean => {
  const ids = new Map<Tree, number>()
  const keyOf = (counts: Counts): string =>
    [...counts]
      .map(([each, count]) => {
        if (!ids.has(each)) ids.set(each, ids.size)
        return `${ids.get(each)}:${count}`
      })
      .sort()
      .join()
  const seen = new Set<string>()
  const open: Counts[] = []
  const visit = (place: Counts): void => {
    const key = keyOf(place)
    if (place.size === 0 || seen.has(key)) return
    seen.add(key)
    open.push(place)
  }
  for (const schema of schemas) if (isTree(schema)) visit(new Map([[schema, 1]]))
  let work = 0
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const all = expandInPlace(place, follow)
    work += all.size
    if (total(all) > maxFreeChecks || work > maxWork) return false
    for (const below of placesBelow(all)) {
      work += below.size
      visit(below)
    }
  }
  return true
}

const total = (counts: Counts): number => [...counts.values()].reduce((sum, count) => sum + count, 0)

const add = (counts: Counts, schema: unknown, count: number): void => {
  if (isTree(schema)) counts.set(schema, (counts.get(schema) ?? 0) + count)
}

/** Adds the schemas that hold for the same place. Schemas that lead to themselves in place are found before. */
const expandInPlace = (place: Counts, follow: FollowReference): Counts => {
  // Each schema follows those that lead to it: its count is complete when it is passed on.
  const order: Tree[] = []
  const done = new Set<Tree>()
  const visit = (schema: Tree): void => {
    if (done.has(schema)) return
    done.add(schema)
    for (const next of schemasInPlace(schema, follow)) if (isTree(next)) visit(next)
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

/** Lists the places one level deeper: members by name, items by index, and names. */
const placesBelow = (counts: Counts): readonly Counts[] => {
  const names = new Set<string>([...counts.keys()].flatMap((schema) => Object.keys(asTree(schema.properties))))
  const indexes = Math.max(0, ...[...counts.keys()].map((schema) => asItems(schema.prefixItems).length))
  const collect = (list: (schema: Tree) => readonly unknown[]): Counts => {
    const below: Counts = new Map()
    for (const [schema, count] of counts) for (const each of list(schema)) add(below, each, count)
    return below
  }
  const member = (name: string | null) =>
    collect((schema) => {
      const properties = asTree(schema.properties)
      const isNamed = name !== null && Object.hasOwn(properties, name)
      return [
        isNamed ? properties[name] : schema.additionalProperties,
        ...Object.values(asTree(schema.patternProperties)),
        schema.unevaluatedProperties,
      ]
    })
  const item = (index: number) =>
    collect((schema) => [
      index < asItems(schema.prefixItems).length ? asItems(schema.prefixItems)[index] : schema.items,
      schema.contains,
    ])
  return [
    ...[...names, null].map(member),
    ...Array.from({ length: indexes + 1 }, (_, index) => item(index)),
    collect((schema) => [schema.propertyNames]),
  ]
}

/** Finds the schemas that lead to themselves without a member or an item between: checking them would never end. */
export const findCirclesInPlace = (schemas: readonly unknown[], follow: FollowReference): ReadonlySet<Tree> => {
  const found = new Set<Tree>()
  const done = new Set<Tree>()
  const open = new Set<Tree>()
  const visit = (schema: unknown): void => {
    if (!isTree(schema) || done.has(schema)) return
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
