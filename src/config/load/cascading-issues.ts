import { type ConfigIssue, formatKeyPath, type KeyPath } from '../problem.ts'
import { valueAt } from '../rules/rule.ts'
import { knownKeys } from '../schema/schema-keys.ts'

/**
 * Leaves out what one line that is indented wrongly causes elsewhere: the key itself is unknown where it stands now, and that is told. That it is
 * missing where it belongs, that the key above it has no value, and that what stood below it is unknown too, are told by no more than that.
 */
export const dropCascadingIssues = <F extends ConfigIssue>(issues: readonly F[], tree: unknown): readonly F[] => {
  const unknown = new Map(
    issues.flatMap((each) => (each.keyFault === 'unknown' ? [[formatKeyPath(each.path), each]] : [])),
  )
  if (unknown.size === 0) return issues
  const cascading = new Set<ConfigIssue>()
  /** Adds what is unknown from a key on, one behind the other, and would be known at home. */
  const addSiblings = (path: KeyPath | null, properParent: KeyPath): void => {
    const known = knownKeys(properParent)
    for (let next = path; next !== null; next = nextSibling(tree, next)) {
      const unknownIssue = unknown.get(formatKeyPath(next))
      if (unknownIssue === undefined || !known.includes(String(next.at(-1)))) return
      cascading.add(unknownIssue)
    }
  }

  const misplaced = countNames([...unknown.values()].map(({ path }) => String(path.at(-1))))
  for (const issue of issues) {
    const { keyFault, path } = issue
    const [name, above] = [String(path.at(-1)), path.slice(0, -1)]
    if (keyFault === 'missing' && (misplaced.get(name) ?? 0) > 0) {
      misplaced.set(name, (misplaced.get(name) ?? 0) - 1)
      cascading.add(issue)
    }
    if (keyFault === 'empty') {
      const next = nextKey(tree, path)
      if (next === null || !unknown.has(formatKeyPath(next)) || !knownKeys(path).includes(String(next.at(-1)))) continue
      cascading.add(issue)
      addSiblings(nextSibling(tree, next), path)
    }
    if (keyFault === 'unknown' && valueAt(tree, path) === null) {
      const outer = above.map((_, depth) => above.slice(0, depth)).find((each) => knownKeys(each).includes(name))
      if (outer !== undefined) addSiblings(nextSibling(tree, path), [...outer, name])
    }
  }
  return issues.filter((each) => !cascading.has(each))
}

const countNames = (names: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Finds the key behind another in the same map; null: it is the last one. */
const nextSibling = (tree: unknown, path: KeyPath): KeyPath | null => {
  const above = path.slice(0, -1)
  const map = valueAt(tree, above)
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return null
  const keys = Object.keys(map)
  const next = keys[keys.indexOf(String(path.at(-1))) + 1]
  return next === undefined ? null : [...above, next]
}

/** Finds the key that stands next in the file behind one that has no value: beside it, or beside what it is in. */
const nextKey = (tree: unknown, path: KeyPath): KeyPath | null =>
  path.length === 0 ? null : (nextSibling(tree, path) ?? nextKey(tree, path.slice(0, -1)))
