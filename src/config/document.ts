import { type Document, LineCounter, parseDocument } from 'yaml'
import { has, offsetOf } from './nodes.ts'
import type { Path, Placed, Position } from './problem.ts'
import { syntaxFindings, unquoted } from './syntax.ts'

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
  const repaired: Placed[] = []
  let { document, lineCounter } = parse(text)
  // The parser loses its way after `{ url: ${NAME} }`. With the placeholder masked, it tells the other problems too.
  const repairs = text.length > maxRepairedLength ? 1 : maxRepairs
  while (repaired.length < repairs) {
    const slip = unquoted(document, text)
    if (slip === undefined) break
    repaired.push(slip.finding)
    text = slip.masked
    ;({ document, lineCounter } = parse(text))
  }
  const at = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset)
    return line < 1 ? { line: 1, column: 1 } : { line, column: col }
  }
  const locate = (path: Path, atKey = false): Position => at(offsetOf(document, path, atKey))
  const find = (path: Path): Position | undefined => (has(document, path) ? locate(path) : undefined)
  const { findings, usable } = syntaxFindings(document, text, at)
  return { document, findings: [...repaired, ...findings], usable, at, locate, find }
}

/** Each repair parses the text again, so a large one gets a single one. */
const maxRepairs = 20
const maxRepairedLength = 64 * 1024

function parse(text: string): { readonly document: Document; readonly lineCounter: LineCounter } {
  const lineCounter = new LineCounter()
  // The parser compares each key with each other one; `syntaxFindings` looks for duplicates in linear time.
  const options = { lineCounter, prettyErrors: false, stringKeys: true, uniqueKeys: false, version: '1.2' } as const
  return { document: parseDocument(text, options), lineCounter }
}
