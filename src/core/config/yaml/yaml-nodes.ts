import type { Document, Node, Pair } from 'yaml'
import { isAlias, isCollection, isMap, isNode, isPair, isScalar, isSeq, LineCounter } from 'yaml'
import type { FilePosition, KeyPath } from '../problem.ts'

/** Valid only during the call: the walk reuses the arrays. */
interface NodeContext {
  readonly path: KeyPath
  readonly parents: readonly Node[]
  readonly isKey: boolean
}

/** yaml's own `visit` copies each node's ancestors, which takes ten times as long. */
export function forEachNode(document: Document, visit: (node: Node, context: NodeContext) => void): void {
  const path: (string | number)[] = []
  const parents: Node[] = []
  const visitNode = (node: unknown, isKey: boolean): void => {
    if (!isNode(node)) return
    visit(node, { path, parents, isKey })
    if (!isCollection(node)) return
    parents.push(node)
    for (const [nth, item] of node.items.entries()) {
      path.push(isPair(item) ? pairKey(item) : nth)
      if (isPair(item)) {
        visitNode(item.key, true)
        visitNode(item.value, false)
      } else visitNode(item, false)
      path.pop()
    }
    parents.pop()
  }
  visitNode(document.contents, false)
}

export const hasPath = (document: Document, path: KeyPath): boolean => followPath(document, path).found

/** For a missing value, the offset of the deepest existing key above it. */
export function findOffset(document: Document, path: KeyPath, atKey: boolean): number {
  const { found, pair, node } = followPath(document, path)
  // A block starts on the line after its key, and a missing value has no start: both are located at the key.
  const block = isCollection(node) && node.flow !== true
  const empty = node === null || (isScalar(node) && node.value === null && node.source === '')
  if (pair !== undefined && (!found || atKey || block || empty)) return startOffset(pair.key) ?? 0
  return startOffset(node) ?? startOffset(pair?.key) ?? 0
}

function followPath(document: Document, path: KeyPath) {
  let node: unknown = document.contents
  let pair: Pair | undefined
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const next = node.items.find((item) => pairKey(item) === key)
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

const pairKey = (pair: Pair): string => String(isScalar(pair.key) ? pair.key.value : pair.key)

const startOffset = (node: unknown): number | undefined =>
  isScalar(node) || isCollection(node) || isAlias(node) ? node.range?.[0] : undefined

export const createPositionFinder = (text: string): ((offset: number) => FilePosition) => {
  let lines: LineCounter | null = null
  return (offset) => {
    lines ??= countLines(text)
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
}

const countLines = (text: string): LineCounter => {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) lines.addNewLine(end + 1)
  return lines
}
