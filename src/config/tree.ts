import type { Path } from './problem.ts'
import { External } from './schema/scalar.ts'

/** Finds a value in a tree that nobody has checked; undefined: it is not there. */
export function childAt(tree: unknown, path: Path): unknown {
  let value = tree
  for (const key of path) {
    if (typeof value !== 'object' || value === null || value instanceof External) return undefined
    value = Object.getOwnPropertyDescriptor(value, key)?.value
  }
  return value
}
