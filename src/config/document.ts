// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { type Document, isCollection, isScalar, LineCounter, parseDocument } from 'yaml'
import { type Environment, substitute } from './environment.ts'
import { eachNode, has, offsetOf } from './nodes.ts'
import type { Path, Placed, Position } from './problem.ts'
import { maxAliases, syntaxFindings, tooManyAliases } from './syntax.ts'

/** Holds a parsed file that can still say where each value stands. */
export interface Source {
  readonly document: Document
  /** Every problem of syntax, and every construct that is refused. */
  readonly findings: readonly Placed[]
  /** Whether the tree can be relied on: false after an error of syntax. */
  readonly usable: boolean
  readonly at: (offset: number) => Position
  /** Finds a value, or its key; what is missing is placed at the deepest key above it that is there. */
  readonly locate: (path: Path, atKey?: boolean) => Position
  /** Finds a value that the file itself states. */
  readonly find: (path: Path) => Position | undefined
}

/** Parses YAML 1.2 text, keeping positions. Never throws, and never lets the parser quote the text. */
export function parseSource(text: string): Source {
  const isMasked = text.includes('${') && !text.includes(opening) && !text.includes(closing)
  const { document, lineCounter } = parse(isMasked ? masked(text) : text)
  const bare = isMasked ? unmask(document) : []
  const at = (offset: number): Position => positionIn(lineCounter, offset)
  const locate = (path: Path, atKey = false): Position => at(offsetOf(document, path, atKey))
  const find = (path: Path): Position | undefined => (has(document, path) ? locate(path) : undefined)
  const { findings, usable } = syntaxFindings(document, text, at)
  return { document, findings: [...bare, ...findings], usable, at, locate, find }
}

/** What a text says, as plain values, and what is wrong with how it says it. */
export interface Tree {
  /** Undefined: it says nothing that can be relied on. */
  readonly tree: unknown
  readonly findings: readonly Placed[]
}

/** Fills in the environment and turns a document into plain values. */
export const treeOf = (source: Source, environment: Environment): Tree => {
  if (!source.usable) return { tree: undefined, findings: source.findings }
  const findings: readonly Placed[] = [...source.findings, ...substitute(source.document, environment)]
  try {
    // The parser counts the anchor as well.
    return { tree: source.document.toJS({ maxAliasCount: maxAliases + 1 }), findings }
  } catch {
    // Its aliases unfold into too much or into nothing.
    return { tree: undefined, findings: findings.length === 0 ? [{ path: [], ...tooManyAliases }] : findings }
  }
}

/** Tells the line and the column of an offset. */
export const positionIn = (lines: LineCounter, offset: number): Position => {
  const { line, col } = lines.linePos(offset)
  return line < 1 ? { line: 1, column: 1 } : { line, column: col }
}

// To the parser, the brace of a placeholder in { } or [ ] is its own. It sees signs for private use instead, as long as what they stand for.
// A text that holds such a sign of its own is left as it is.
const [opening, closing] = ['\ue000', '\ue001']

const masked = (text: string): string => text.replaceAll(/\$\{([^{}"'\r\n]*)\}/g, `$$${opening}$1${closing}`)

/** Puts placeholders in their place again, and finds those that would have misled the parser: they stay masked, so no more is said of them. */
const unmask = (document: Document): readonly Placed[] => {
  const findings: Placed[] = []
  eachNode(document, (node, { path, parents, isKey }) => {
    if (!isScalar(node) || typeof node.value !== 'string' || !node.value.includes(opening)) return
    const around = parents.at(-1)
    if (node.type !== 'PLAIN' || !isCollection(around) || around.flow !== true) {
      node.value = node.value.replaceAll(opening, '{').replaceAll(closing, '}')
      return
    }
    findings.push({
      path: isKey ? path.slice(0, -1) : [...path],
      offset: node.range?.[0] ?? 0,
      message: 'a placeholder in { } or [ ] without quotes',
      expected: 'a quoted placeholder',
      found: 'an unquoted ${',
      hint: 'quote it, "${NAME}", or use a list with dashes',
    })
  })
  return findings
}

function parse(text: string): { readonly document: Document; readonly lineCounter: LineCounter } {
  const lineCounter = new LineCounter()
  // The parser compares each key with each other one; `syntaxFindings` looks for duplicates in linear time.
  const options = { lineCounter, prettyErrors: false, stringKeys: true, uniqueKeys: false, version: '1.2' } as const
  return { document: parseDocument(text, options), lineCounter }
}
