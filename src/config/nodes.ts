import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
} from 'yaml'
import type { Path } from './problem.ts'

/** Where a node stands in its document. It holds while the node is looked at, and is another one afterwards. */
export interface Standing {
  /** Of a key, with the key itself. */
  readonly path: Path
  /** What it is in, the innermost last. */
  readonly parents: readonly Node[]
  readonly isKey: boolean
}

/** Calls `see` with each node, in the order of the file. The `visit` of `yaml` takes ten times as long, for a copy of the ancestors of each. */
export function eachNode(document: Document, see: (node: Node, standing: Standing) => void): void {
  const path: (string | number)[] = []
  const parents: Node[] = []
  const go = (node: unknown, isKey: boolean): void => {
    if (!isNode(node)) return
    see(node, { path, parents, isKey })
    if (!isCollection(node)) return
    parents.push(node)
    for (const [nth, item] of node.items.entries()) {
      path.push(isPair(item) ? keyOf(item) : nth)
      if (isPair(item)) {
        go(item.key, true)
        go(item.value, false)
      } else go(item, false)
      path.pop()
    }
    parents.pop()
  }
  go(document.contents, false)
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
