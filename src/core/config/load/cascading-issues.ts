import { type ConfigIssue, formatKeyPath, type KeyPath } from '../problem.ts'
import { valueAt } from '../rules/rule.ts'
import { knownKeys } from '../schema/schema-keys.ts'

/**
 * Leaves out the issues that one wrongly indented line causes elsewhere. The issue of the key that is unknown where it
 * stands now stays. Three others go: the key is missing where it belongs, its parent has no value, and the keys after
 * it are unknown too.
 */
export const dropCascadingIssues = <I extends ConfigIssue>(issues: readonly I[], tree: unknown): readonly I[] => {
  const unknown = new Map(
    issues.flatMap((issue) => (issue.keyFault === 'unknown' ? [[formatKeyPath(issue.path), issue]] : [])),
  )
  if (unknown.size === 0) return issues
  const cascading = new Set<ConfigIssue>()
  /** Adds the unknown siblings from `path` on that `properParent` knows, up to the first other key. */
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
  return issues.filter((issue) => !cascading.has(issue))
}

const countNames = (names: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

const nextSibling = (tree: unknown, path: KeyPath): KeyPath | null => {
  const above = path.slice(0, -1)
  const map = valueAt(tree, above)
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return null
  const keys = Object.keys(map)
  const next = keys[keys.indexOf(String(path.at(-1))) + 1]
  return next === undefined ? null : [...above, next]
}

/**
 * Finds the key that follows one without a value in the file: its next sibling, or that of the nearest map around it.
 */
const nextKey = (tree: unknown, path: KeyPath): KeyPath | null =>
  path.length === 0 ? null : (nextSibling(tree, path) ?? nextKey(tree, path.slice(0, -1)))
