import { type Alias, type Document, isAlias, isMap, isScalar } from 'yaml'
import { eachNode } from './nodes.ts'
import type { Path, Placed, Position } from './problem.ts'
import { syntaxError } from './syntax-error.ts'

/** More aliases than this in one file are refused, nested ones counted as often as they unfold. */
export const maxAliases = 100

/** Syntax errors beyond this many are left out: they repeat the first ones. */
const maxSyntaxErrors = 20

interface Syntax {
  readonly findings: readonly Placed[]
  /** Whether the tree can be relied on. */
  readonly usable: boolean
}

/** Collects errors of syntax, and what YAML allows but this file does not: tags, directives, duplicate keys, many aliases. */
export function syntaxFindings(document: Document, text: string, at: (offset: number) => Position): Syntax {
  const findings: Placed[] = []
  const lines = new Set<number>()
  const add = (offset: number, finding: Placed): void => {
    lines.add(at(offset).line)
    findings.push({ ...finding, offset })
  }

  // An alias that leads nowhere, or in a circle, leaves no tree to look at.
  let usable = visitRefused(document, add)
  const refused = findings.length
  let lostAt: number | null = null
  for (const error of document.errors.slice(0, 1000)) {
    // The parser stumbles over what follows a slip, on its line and on later ones: the first stumble tells it best.
    const [start] = error.pos
    const isLost = lostAt !== null && !hasFoundItsWay(text, lostAt, start) && isOfStructure(error.code, text, start)
    if (misleading.has(error.code)) lostAt = start
    // What should have been a key over several lines is found fault with again, as a key.
    if (isLost && error.code === 'MULTILINE_IMPLICIT_KEY') lines.add(at(start).line)
    const echo = isLost || lines.has(at(start).line) || (!usable && error.code === 'UNEXPECTED_TOKEN')
    if (!echo && findings.length < refused + maxSyntaxErrors) {
      const finding = syntaxError(error, document, at, isOfStructure(error.code, text, start))
      add(finding.offset, finding)
    }
    usable = false
    if (error.code === 'RESOURCE_EXHAUSTION') break
  }
  return { findings, usable }
}

// A line that is indented wrongly has the parser take all that follows for something else.
const misleading: ReadonlySet<string> = new Set(['BAD_INDENT', 'BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY'])

/** Tells whether the parser knows again where it is: a key of the whole file has come since. */
const hasFoundItsWay = (text: string, lostAt: number, offset: number): boolean =>
  /[\r\n][^\s#-]/.test(text.slice(lostAt, offset + 1))

/** Tells whether an error is of how lines stand to one another, and not one that a line has alone: a second colon, say. */
const isOfStructure = (code: string, text: string, offset: number): boolean => {
  if (code !== 'BLOCK_AS_IMPLICIT_KEY') return misleading.has(code)
  const [line = ''] = text.slice(text.lastIndexOf('\n', offset - 1) + 1).split(/[\r\n]/, 1)
  return (line.match(/:[ \t]/g) ?? []).length < 2
}

type Add = (offset: number, finding: Placed) => void

/** Finds the constructs that are refused; false when the tree cannot be built because of them. */
function visitRefused(document: Document, add: Add): boolean {
  if (document.directives?.yaml.explicit === true) {
    add(0, {
      path: [],
      message: 'a YAML directive',
      expected: 'plain YAML 1.2',
      found: '%YAML',
      hint: 'remove the line',
    })
  }
  let aliases = 0
  let whole = true
  eachNode(document, (node, { path, parents }) => {
    const offset = node.range?.[0] ?? 0
    if (isAlias(node)) {
      aliases++
      if (aliases > maxAliases + 1) return
      const finding =
        aliases > maxAliases ? { path: [], ...tooManyAliases } : aliasFinding(node, document, path, parents)
      if (finding === undefined) return
      whole = false
      return add(offset, finding)
    }
    if (node.tag !== undefined) {
      const hint = 'remove the word with !'
      add(offset, { path: [...path], message: 'a tag', expected: 'plain values', found: 'a tag', hint })
    }
    if (!isMap(node)) return
    const seen = new Set<unknown>()
    for (const { key } of node.items) {
      const name = isScalar(key) ? key.value : key
      const refused = name === '__proto__' ? inherited : seen.has(name) ? duplicate : undefined
      if (refused !== undefined && isScalar(key))
        add(key.range?.[0] ?? 0, { path: [...path, String(name)], ...refused })
      seen.add(name)
    }
  })
  return whole
}

/** JavaScript gives this name a meaning of its own, and zod passes over it. */
const inherited = { message: 'unknown key', expected: 'a known key', found: '__proto__', hint: 'remove it' }

const duplicate = {
  message: 'a key that stands here already',
  expected: 'each key once',
  found: 'it twice',
  hint: 'keep one of the two',
}

/** Says what is printed for an alias bomb, wherever it is noticed. */
export const tooManyAliases = {
  message: 'too many aliases',
  expected: `at most ${maxAliases} aliases, nested ones counted as often as they unfold`,
  found: 'more',
  hint: 'write the values out',
}

function aliasFinding(
  node: Alias,
  document: Document,
  standing: Path,
  parents: readonly unknown[],
): Placed | undefined {
  const path = [...standing]
  const target = node.resolve(document)
  if (target === undefined) {
    const hint = 'put the value in quotes, if it only begins with *'
    return { path, message: 'an alias without an anchor', expected: 'an anchor above it', found: 'none', hint }
  }
  if (parents.includes(target)) {
    const hint = 'write the value out'
    return { path, message: 'an alias inside its own anchor', expected: 'a value that ends', found: 'a circle', hint }
  }
  return undefined
}
