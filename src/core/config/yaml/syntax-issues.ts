import { type Alias, type Document, isAlias, isMap, isScalar } from 'yaml'
import type { FilePosition, KeyPath, LocatableIssue } from '../problem.ts'
import { describeSyntaxError } from './syntax-error-text.ts'
import { forEachNode } from './yaml-nodes.ts'

/** The largest number of aliases in one file; nested ones count as often as they unfold. */
export const maxAliases = 100

/** The largest number of syntax errors that are reported: later ones repeat the first. */
const maxSyntaxErrors = 20

interface SyntaxResult {
  readonly issues: readonly LocatableIssue[]
  /** Whether the tree is reliable. */
  readonly usable: boolean
}

/** Collects syntax errors, and YAML that the gateway forbids: tags, directives, duplicate keys, too many aliases. */
export function findSyntaxIssues(document: Document, text: string, at: (offset: number) => FilePosition): SyntaxResult {
  const issues: LocatableIssue[] = []
  const lines = new Set<number>()
  const add = (offset: number, issue: LocatableIssue): void => {
    lines.add(at(offset).line)
    issues.push({ ...issue, offset })
  }

  // With an alias that leads nowhere, or in a circle, the tree cannot be built.
  let usable = findForbiddenConstructs(document, add)
  const forbiddenCount = issues.length
  let lostAt: number | null = null
  for (const error of document.errors.slice(0, 1000)) {
    // After a mistake the parser reports more errors, on its line and on later ones. The first describes it best.
    const [start] = error.pos
    const isLost =
      lostAt !== null && !hasResynchronized(text, lostAt, start) && isIndentationError(error.code, text, start)
    if (derailingErrors.has(error.code)) lostAt = start
    // The parser reports a key over several lines a second time, as a key.
    if (isLost && error.code === 'MULTILINE_IMPLICIT_KEY') lines.add(at(start).line)
    const isFollowOn = isLost || lines.has(at(start).line) || (!usable && error.code === 'UNEXPECTED_TOKEN')
    if (!isFollowOn && issues.length < forbiddenCount + maxSyntaxErrors) {
      const issue = describeSyntaxError(error, document, at, isIndentationError(error.code, text, start))
      add(issue.offset, issue)
    }
    usable = false
    if (error.code === 'RESOURCE_EXHAUSTION') break
  }
  return { issues, usable }
}

// After a line that is indented wrongly, the parser misreads all that follows.
const derailingErrors: ReadonlySet<string> = new Set(['BAD_INDENT', 'BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY'])

/** Tells whether the parser has recovered: a top-level key stands between the two offsets. */
const hasResynchronized = (text: string, lostAt: number, offset: number): boolean =>
  /[\r\n][^\s#-]/.test(text.slice(lostAt, offset + 1))

/** Tells whether an error is about the indentation of lines to one another. A second colon in one line, say, is not. */
const isIndentationError = (code: string, text: string, offset: number): boolean => {
  if (code !== 'BLOCK_AS_IMPLICIT_KEY') return derailingErrors.has(code)
  const [line = ''] = text.slice(text.lastIndexOf('\n', offset - 1) + 1).split(/[\r\n]/, 1)
  return (line.match(/:[ \t]/g) ?? []).length < 2
}

type AddIssue = (offset: number, issue: LocatableIssue) => void

/** Reports forbidden constructs; false: the tree cannot be built because of them. */
function findForbiddenConstructs(document: Document, add: AddIssue): boolean {
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
  let isIntact = true
  forEachNode(document, (node, { path, parents }) => {
    const offset = node.range?.[0] ?? 0
    if (isAlias(node)) {
      aliases++
      if (aliases > maxAliases + 1) return
      const issue = aliases > maxAliases ? { path: [], ...tooManyAliases } : aliasIssue(node, document, path, parents)
      if (issue === undefined) return
      isIntact = false
      return add(offset, issue)
    }
    if (node.tag !== undefined) {
      const hint = 'remove the word with !'
      add(offset, { path: [...path], message: 'a tag', expected: 'plain values', found: 'a tag', hint })
    }
    if (!isMap(node)) return
    const seen = new Set<unknown>()
    for (const { key } of node.items) {
      const name = isScalar(key) ? key.value : key
      const forbidden = name === '__proto__' ? prototypeKey : seen.has(name) ? duplicateKey : undefined
      if (forbidden !== undefined && isScalar(key))
        add(key.range?.[0] ?? 0, { path: [...path, String(name)], ...forbidden })
      seen.add(name)
    }
  })
  return isIntact
}

/** The issue of `__proto__`: JavaScript gives this name a meaning of its own, and zod ignores it. */
export const prototypeKey = { message: 'unknown key', expected: 'a known key', found: '__proto__', hint: 'remove it' }

const duplicateKey = {
  message: 'a key that stands here already',
  expected: 'each key once',
  found: 'it twice',
  hint: 'keep one of the two',
}

/** The issue of an alias bomb, wherever it is noticed. */
export const tooManyAliases = {
  message: 'too many aliases',
  expected: `at most ${maxAliases} aliases, nested ones counted as often as they unfold`,
  found: 'more',
  hint: 'write the values out',
}

function aliasIssue(
  node: Alias,
  document: Document,
  nodePath: KeyPath,
  parents: readonly unknown[],
): LocatableIssue | undefined {
  const path = [...nodePath]
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
