import { type Finding, formatPath, type Path } from './problem.ts'
import { childAt } from './rules/rule.ts'
import { knownKeys } from './schema/places.ts'

/**
 * Leaves out what one line that is indented wrongly causes elsewhere: the key itself is unknown where it stands now, and that is told. That it is
 * missing where it belongs, that the key above it has no value, and that what stood below it is unknown too, are told by no more than that.
 */
export const withoutEchoes = <F extends Finding>(findings: readonly F[], tree: unknown): readonly F[] => {
  const unknown = new Map(findings.flatMap((each) => (each.slip === 'unknown' ? [[formatPath(each.path), each]] : [])))
  if (unknown.size === 0) return findings
  const echoes = new Set<Finding>()
  /** Adds what is unknown from a key on, one behind the other, and would be known at home. */
  const addFrom = (path: Path | null, home: Path): void => {
    const known = knownKeys(home)
    for (let next = path; next !== null; next = siblingBehind(tree, next)) {
      const found = unknown.get(formatPath(next))
      if (found === undefined || !known.includes(String(next.at(-1)))) return
      echoes.add(found)
    }
  }

  const moved = counted([...unknown.values()].map(({ path }) => String(path.at(-1))))
  for (const finding of findings) {
    const { slip, path } = finding
    const [name, above] = [String(path.at(-1)), path.slice(0, -1)]
    if (slip === 'missing' && (moved.get(name) ?? 0) > 0) {
      moved.set(name, (moved.get(name) ?? 0) - 1)
      echoes.add(finding)
    }
    if (slip === 'empty') {
      const next = keyBehind(tree, path)
      if (next === null || !unknown.has(formatPath(next)) || !knownKeys(path).includes(String(next.at(-1)))) continue
      echoes.add(finding)
      addFrom(siblingBehind(tree, next), path)
    }
    if (slip === 'unknown' && childAt(tree, path) === null) {
      const outer = above.map((_, depth) => above.slice(0, depth)).find((each) => knownKeys(each).includes(name))
      if (outer !== undefined) addFrom(siblingBehind(tree, path), [...outer, name])
    }
  }
  return findings.filter((each) => !echoes.has(each))
}

const counted = (names: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Finds the key behind another in the same map; null: it is the last one. */
const siblingBehind = (tree: unknown, path: Path): Path | null => {
  const above = path.slice(0, -1)
  const map = childAt(tree, above)
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return null
  const keys = Object.keys(map)
  const next = keys[keys.indexOf(String(path.at(-1))) + 1]
  return next === undefined ? null : [...above, next]
}

/** Finds the key that stands next in the file behind one that has no value: beside it, or beside what it is in. */
const keyBehind = (tree: unknown, path: Path): Path | null =>
  path.length === 0 ? null : (siblingBehind(tree, path) ?? keyBehind(tree, path.slice(0, -1)))
