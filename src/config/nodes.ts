import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Pair,
  type Scalar,
  visit,
} from 'yaml'
import type { Path } from './problem.ts'

/** Calls `change` with each scalar that is a value, in the order of the file; `path` works out where it stands. */
export function eachScalar(document: Document, change: (node: Scalar, path: () => Path) => void): void {
  visit(document, {
    Scalar(key, node, ancestors) {
      if (key !== 'key') change(node, () => pathOf([...ancestors, node]))
    },
  })
}

/** Rebuilds the key path of a node from its ancestors, itself the last. */
export function pathOf(ancestors: readonly unknown[]): Path {
  const path: (string | number)[] = []
  for (const [depth, ancestor] of ancestors.entries()) {
    if (isPair(ancestor)) path.push(keyOf(ancestor))
    else if (isSeq(ancestor) && depth + 1 < ancestors.length) {
      path.push(ancestor.items.indexOf(ancestors[depth + 1]))
    }
  }
  return path
}

/** Says whether the document itself states a value at a path; aliases are followed. */
export const has = (document: Document, path: Path): boolean => walk(document, path).found

/** Finds where a value, or its key, starts; what is missing is placed at the deepest key above it that is there. */
export function offsetOf(document: Document, path: Path, atKey: boolean): number {
  const { found, pair, node } = walk(document, path)
  // A block starts on the line after its key, and nothing starts nowhere: both are better shown at the key.
  const block = isCollection(node) && node.flow !== true
  const empty = node === null || (isScalar(node) && node.value === null && node.source === '')
  if (pair !== undefined && (!found || atKey || block || empty)) return startOf(pair.key) ?? 0
  return startOf(node) ?? startOf(pair?.key) ?? 0
}

interface Walked {
  readonly found: boolean
  /** The pair that leads to the deepest node that is there. */
  readonly pair: Pair | undefined
  readonly node: unknown
}

function walk(document: Document, path: Path): Walked {
  let node: unknown = document.contents
  let pair: Pair | undefined
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const next = node.items.find((item) => keyOf(item) === key)
      if (next === undefined) return { found: false, pair, node }
      pair = next
      node = next.value
    } else if (isSeq(node) && typeof key === 'number' && key < node.items.length) {
      node = node.items[key]
      pair = undefined
    } else return { found: false, pair, node }
  }
  return { found: true, pair, node }
}

const keyOf = (pair: Pair): string => String(isScalar(pair.key) ? pair.key.value : pair.key)

const startOf = (node: unknown): number | undefined =>
  isScalar(node) || isCollection(node) || isAlias(node) ? node.range?.[0] : undefined
