// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import { type Document, isCollection, isScalar, LineCounter, parseDocument } from 'yaml'
import { type Environment, substituteVariables } from '../environment.ts'
import type { FilePosition, KeyPath, LocatableIssue } from '../problem.ts'
import { findSyntaxIssues, maxAliases, tooManyAliases } from './syntax-issues.ts'
import { findOffset, forEachNode, hasPath } from './yaml-nodes.ts'

/** Holds a parsed file that can still say where each value stands. */
export interface YamlSource {
  readonly document: Document
  /** Every problem of syntax, and every construct that is refused. */
  readonly issues: readonly LocatableIssue[]
  /** Whether the tree can be relied on: false after an error of syntax. */
  readonly usable: boolean
  readonly at: (offset: number) => FilePosition
  /** Finds a value, or its key; what is missing is placed at the deepest key above it that is there. */
  readonly locate: (path: KeyPath, atKey?: boolean) => FilePosition
  /** Finds a value that the file itself states. */
  readonly locateStated: (path: KeyPath) => FilePosition | undefined
}

/** Parses YAML 1.2 text, keeping positions. Never throws, and never lets the parser quote the text. */
export function parseYamlSource(text: string): YamlSource {
  const isMasked = text.includes('${') && !text.includes(opening) && !text.includes(closing)
  const { document, lineCounter } = parseWithLines(isMasked ? maskPlaceholders(text) : text)
  const unquotedPlaceholders = isMasked ? unmaskPlaceholders(document) : []
  const at = (offset: number): FilePosition => positionAt(lineCounter, offset)
  const locate = (path: KeyPath, atKey = false): FilePosition => at(findOffset(document, path, atKey))
  const locateStated = (path: KeyPath): FilePosition | undefined => (hasPath(document, path) ? locate(path) : undefined)
  const { issues, usable } = findSyntaxIssues(document, text, at)
  return { document, issues: [...unquotedPlaceholders, ...issues], usable, at, locate, locateStated }
}

/** What a text says, as plain values, and what is wrong with how it says it. */
export interface ParsedTree {
  /** Undefined: it says nothing that can be relied on. */
  readonly tree: unknown
  readonly issues: readonly LocatableIssue[]
}

/** Fills in the environment and turns a document into plain values. */
export const toPlainTree = (source: YamlSource, environment: Environment): ParsedTree => {
  if (!source.usable) return { tree: undefined, issues: source.issues }
  const issues: readonly LocatableIssue[] = [...source.issues, ...substituteVariables(source.document, environment)]
  try {
    // The parser counts the anchor as well.
    return { tree: source.document.toJS({ maxAliasCount: maxAliases + 1 }), issues }
  } catch {
    // Its aliases unfold into too much or into nothing.
    return { tree: undefined, issues: issues.length === 0 ? [{ path: [], ...tooManyAliases }] : issues }
  }
}

/** Tells the line and the column of an offset. */
export const positionAt = (lines: LineCounter, offset: number): FilePosition => {
  const { line, col } = lines.linePos(offset)
  return line < 1 ? { line: 1, column: 1 } : { line, column: col }
}

// To the parser, the brace of a placeholder in { } or [ ] is its own. It sees signs for private use instead, as long as what they stand for.
// A text that holds such a sign of its own is left as it is.
const [opening, closing] = ['\ue000', '\ue001']

const maskPlaceholders = (text: string): string => text.replaceAll(/\$\{([^{}"'\r\n]*)\}/g, `$$${opening}$1${closing}`)

/** Puts placeholders in their place again, and finds those that would have misled the parser: they stay masked, so no more is said of them. */
const unmaskPlaceholders = (document: Document): readonly LocatableIssue[] => {
  const issues: LocatableIssue[] = []
  forEachNode(document, (node, { path, parents, isKey }) => {
    if (!isScalar(node) || typeof node.value !== 'string' || !node.value.includes(opening)) return
    const enclosing = parents.at(-1)
    if (node.type !== 'PLAIN' || !isCollection(enclosing) || enclosing.flow !== true) {
      node.value = node.value.replaceAll(opening, '{').replaceAll(closing, '}')
      return
    }
    issues.push({
      path: isKey ? path.slice(0, -1) : [...path],
      offset: node.range?.[0] ?? 0,
      message: 'a placeholder in { } or [ ] without quotes',
      expected: 'a quoted placeholder',
      found: 'an unquoted ${',
      hint: 'quote it, "${NAME}", or use a list with dashes',
    })
  })
  return issues
}

function parseWithLines(text: string): { readonly document: Document; readonly lineCounter: LineCounter } {
  const lineCounter = new LineCounter()
  // The parser compares each key with each other one; `findSyntaxIssues` looks for duplicates in linear time.
  const options = { lineCounter, prettyErrors: false, stringKeys: true, uniqueKeys: false, version: '1.2' } as const
  return { document: parseDocument(text, options), lineCounter }
}
