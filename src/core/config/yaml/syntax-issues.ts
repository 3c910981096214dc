import type { Alias, Document, Node, Scalar, YAMLError } from 'yaml'
import { isAlias, isCollection, isMap, isScalar, isSeq } from 'yaml'
import type { FilePosition, KeyPath, LocatableIssue } from '../problem.ts'
import { forEachNode } from './yaml-nodes.ts'

/** A nested alias counts as often as it unfolds. */
export const maxAliases = 100

const maxSyntaxErrors = 20

/** Rejects tags, directives, duplicate keys and many aliases. `usable`: the tree is reliable. */
export function findSyntaxIssues(document: Document, text: string, at: (offset: number) => FilePosition) {
  const issues: LocatableIssue[] = []
  const lines = new Set<number>()
  const add = (offset: number, issue: LocatableIssue): void => {
    lines.add(at(offset).line)
    issues.push({ ...issue, offset })
  }

  let usable = findForbiddenConstructs(document, add) // false: a dangling or circular alias, so the tree cannot be built
  const forbiddenCount = issues.length
  let lostAt: number | null = null
  for (const error of document.errors.slice(0, 1000)) {
    // After a mistake the parser reports more errors, on the same line and later. The first describes it best.
    const [start] = error.pos
    const isLost =
      lostAt !== null && !hasResynchronized(text, lostAt, start) && isIndentationError(error.code, text, start)
    if (derailingErrors.has(error.code)) lostAt = start
    if (isLost && error.code === 'MULTILINE_IMPLICIT_KEY') lines.add(at(start).line) // the parser reports it twice
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

// After a wrongly indented line the parser misreads all that follows.
const derailingErrors: ReadonlySet<string> = new Set(['BAD_INDENT', 'BLOCK_AS_IMPLICIT_KEY', 'MULTILINE_IMPLICIT_KEY'])

/** A top-level key between the offsets shows that the parser has recovered. */
const hasResynchronized = (text: string, lostAt: number, offset: number): boolean =>
  /[\r\n][^\s#-]/.test(text.slice(lostAt, offset + 1))

/** False for a second colon in one line, which has the same code. */
const isIndentationError = (code: string, text: string, offset: number): boolean => {
  if (code !== 'BLOCK_AS_IMPLICIT_KEY') return derailingErrors.has(code)
  const [line = ''] = text.slice(text.lastIndexOf('\n', offset - 1) + 1).split(/[\r\n]/, 1)
  return (line.match(/:[ \t]/g) ?? []).length < 2
}

type AddIssue = (offset: number, issue: LocatableIssue) => void

function findForbiddenConstructs(document: Document, add: AddIssue): boolean {
  if (document.directives?.yaml.explicit === true) add(0, { path: [], ...yamlDirective })
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

const yamlDirective = {
  message: 'a YAML directive',
  expected: 'plain YAML 1.2',
  found: '%YAML',
  hint: 'remove the line',
}

/** JavaScript treats `__proto__` as the prototype, and zod ignores it. */
export const prototypeKey = { message: 'unknown key', expected: 'a known key', found: '__proto__', hint: 'remove it' }

const duplicateKey = {
  message: 'a duplicate key',
  expected: 'each key once',
  found: 'a duplicate',
  hint: 'keep one of the two',
}

export const tooManyAliases = {
  message: 'too many aliases',
  expected: `at most ${maxAliases} aliases, nested ones counted as often as they unfold`,
  found: 'more',
  hint: 'write the values out',
}

function aliasIssue(node: Alias, document: Document, at: KeyPath, parents: readonly unknown[]) {
  const path = [...at]
  const target = node.resolve(document)
  if (target === undefined) {
    const hint = 'put the value in quotes, if it only begins with *'
    return { path, message: 'an alias without an anchor', expected: 'an anchor above it', found: 'none', hint }
  }
  if (parents.includes(target)) {
    const hint = 'write the value out'
    return { path, message: 'an alias inside its own anchor', expected: 'a value that ends', found: 'a cycle', hint }
  }
  return undefined
}

/**
 * Uses the gateway's words, because the parser's may quote the file. `isIndentationError`: the lines are indented
 * wrongly to one another; each line alone is sound.
 */
function describeSyntaxError(
  { code, pos: [start] }: YAMLError,
  document: Document,
  at: (offset: number) => FilePosition,
  isIndentationError: boolean,
): LocatableIssue & { readonly offset: number } {
  const scalar = scalarAt(document, start)
  const isUnclosedQuote = code === 'MISSING_CHAR' && scalar?.type?.startsWith('QUOTE') === true
  // The parser gave up an unclosed bracket where its content ends.
  const isOpenBracket = (node: Node) => isCollection(node) && node.flow === true && node.range?.[1] === start && node
  const bracketAt = code === 'BAD_INDENT' ? findNode(document, isOpenBracket)?.range?.[0] : undefined
  // The parser reports a missing end further down; the operator should look at the opening.
  const offset = bracketAt ?? (isUnclosedQuote ? (scalar.range?.[0] ?? start) : start)
  const isMultiline = scalar?.range != null && at(scalar.range[0]).line !== at(scalar.range[1]).line
  let fault: string = code
  if (isUnclosedQuote) fault = 'UNCLOSED_QUOTE'
  else if (bracketAt !== undefined) fault = 'UNCLOSED_BRACKET'
  else if (code === 'BLOCK_AS_IMPLICIT_KEY' && isMultiline) fault = 'TOO_DEEP'
  else if (code === 'BLOCK_AS_IMPLICIT_KEY' && isIndentationError) fault = 'BAD_INDENT'
  const [message, hint] = messages[fault] ?? ['not valid YAML', 'check quotes, brackets and indentation near here']
  const found = 'invalid syntax: other problems of the file show when it is fixed'
  return { path: pathAt(document.contents, offset), offset, message, expected: 'valid YAML 1.2', found, hint }
}

const messages: Readonly<Record<string, readonly [message: string, hint: string]>> = {
  UNCLOSED_QUOTE: ['a quote that is not closed', 'close it on the same line'],
  UNCLOSED_BRACKET: [
    'a bracket that is not closed',
    'close it, and indent the lines up to its end further than its key',
  ],
  TOO_DEEP: ['a line that is indented too far', 'indent what follows this line like the line itself'],
  TAB_AS_INDENT: ['a tab in the indentation', 'indent with spaces'],
  MULTIPLE_DOCS: ['a second document', 'remove --- and what follows it: a file is one document'],
  NON_STRING_KEY: ['a key that is not a word', 'write a plain key'],
  BAD_INDENT: ['wrong indentation', 'indent the lines of one block alike'],
  BAD_DQ_ESCAPE: ['an unknown escape in double quotes', 'use single quotes, or double the backslash'],
  BAD_SCALAR_START: ['a value that begins with a reserved character', 'put the value in quotes'],
  MISSING_CHAR: ['a character is missing', 'check for a missing quote, comma, colon or bracket'],
  UNEXPECTED_TOKEN: ['an unexpected character', 'check quotes and brackets'],
  BLOCK_AS_IMPLICIT_KEY: ['a second colon in one line', 'quote the value, or put it on the next line'],
  MULTILINE_IMPLICIT_KEY: ['a key over several lines', 'check for a missing colon on the line'],
  TAG_RESOLVE_FAILED: ['a tag', 'remove the word with !'],
  RESOURCE_EXHAUSTION: ['nested too deeply', 'write fewer levels'],
}

const findNode = <N extends Node>(document: Document, find: (node: Node) => N | false): N | undefined => {
  let found: N | undefined
  forEachNode(document, (node) => {
    found = find(node) || found
  })
  return found
}

const scalarAt = (document: Document, offset: number): Scalar | undefined =>
  findNode(document, (node) => {
    const [start = 0, end = 0] = node.range ?? []
    return isScalar(node) && start <= offset && offset <= end && end > start && node
  })

/** A key belongs to the map around it. */
function pathAt(node: unknown, offset: number, path: KeyPath = []): KeyPath {
  if (path.length >= maxDepth) return path
  if (isMap(node)) {
    const pair = node.items.findLast(({ key }) => startOf(key) < offset)
    if (pair === undefined || !isScalar(pair.key) || node.items.some(({ key }) => startOf(key) === offset)) return path
    return endOf(pair.value) <= offset ? path : pathAt(pair.value, offset, [...path, String(pair.key.value)])
  }
  if (!isSeq(node)) return path
  const index = node.items.findLastIndex((item) => startOf(item) <= offset)
  return index === -1 || endOf(node.items[index]) <= offset ? path : pathAt(node.items[index], offset, [...path, index])
}

const maxDepth = 16

const startOf = (node: unknown): number => rangeOf(node)?.[0] ?? Number.POSITIVE_INFINITY

/** A missing value has no end: the error may be about it. */
const endOf = (node: unknown): number =>
  isScalar(node) && node.value === null ? Number.POSITIVE_INFINITY : (rangeOf(node)?.[2] ?? Number.POSITIVE_INFINITY)

const rangeOf = (node: unknown): Node['range'] =>
  typeof node === 'object' && node !== null && 'range' in node ? (node as Node).range : undefined
