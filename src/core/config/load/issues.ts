import { isUtf8 } from 'node:buffer'
import type * as z from 'zod'
import type { ConfigIssue, ConfigProblem, KeyPath, LocatableIssue, PositionLookup } from '../problem.ts'
import { fileProblem, formatKeyPath, quote } from '../problem.ts'
import { findRenamed } from '../renamed.ts'
import { rawAt, valueAt } from '../rules/rule.ts'
import { ExternalValue } from '../schema/scalar-kind.ts'
import { holdsSecrets, knownKeys, redactKey } from '../schema/schema-keys.ts'
import { suggestNearest } from '../suggest.ts'

type ZodIssue = z.core.$ZodIssue

export function issuesFromZod(zodIssues: readonly ZodIssue[], tree: unknown): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = []
  const seen = new Set<ExternalValue>()
  for (const issue of zodIssues.flatMap((zodIssue) => translateIssue(zodIssue, [], tree))) {
    // zod reports an ExternalValue as a map of unknown keys.
    const external = outermostExternal(tree, issue.path)
    if (external === undefined) issues.push(issue)
    else if (!seen.has(external.value)) {
      seen.add(external.value)
      issues.push(wrongTypeIssue(external.path, 'a map', external.value))
    }
  }
  return issues
}

function translateIssue(zodIssue: ZodIssue, base: KeyPath, tree: unknown): readonly ConfigIssue[] {
  const path = [...base, ...zodIssue.path.filter((key) => typeof key !== 'symbol')]
  const value = rawAt(tree, path)
  if (zodIssue.code === 'unrecognized_keys') return zodIssue.keys.map((key) => unknownKeyIssue(path, key))
  if (zodIssue.code === 'invalid_key') {
    return zodIssue.issues
      .flatMap((inner) => translateIssue(inner, path, tree))
      .map((issue) => ({ ...issue, atKey: true, found: redactKey(String(path.at(-1)), path.slice(0, -1)) }))
  }
  if (zodIssue.code === 'invalid_union') {
    const branch = value === undefined ? [] : matchingBranch(zodIssue.errors, value)
    if (branch.length > 0) return branch.flatMap((inner) => translateIssue(inner, path, tree))
    const isList = zodIssue.errors.flat().some((inner) => 'expected' in inner && inner.expected === 'array')
    const expected = describeExpected(zodIssue.errors[0]?.[0])
    const isWhole = expected.includes(', or a map such as ')
    return [wrongTypeIssue(path, isWhole ? expected : `${expected}, or a ${isList ? 'list' : 'map'}`, value)]
  }
  if (value === undefined || zodIssue.code === 'invalid_type')
    return [wrongTypeIssue(path, describeExpected(zodIssue), value)]
  const found = describeFound(value, path)
  const hint = getParam(zodIssue, 'hint')
  if (zodIssue.code === 'too_small') {
    const add = path.at(-1) === 'endpoints' ? 'add a URL or sandbox' : 'add one, or remove the key'
    return [{ path, message: 'the list is empty', expected: 'at least one entry', found, hint: add }]
  }
  if (zodIssue.code === 'too_big')
    return [{ path, message: 'too many entries', expected: `at most ${zodIssue.maximum}`, found }]
  if (isWrongKind(zodIssue)) {
    const issue = wrongTypeIssue(path, describeExpected(zodIssue), value)
    return [{ ...issue, hint: hint ?? issue.hint }]
  }
  return [{ path, message: zodIssue.message, expected: describeExpected(zodIssue), found, hint }]
}

function matchingBranch(branches: readonly (readonly ZodIssue[])[], value: unknown): readonly ZodIssue[] {
  if (value instanceof ExternalValue) return branches[0] ?? []
  return (
    branches.find((branch) => !branch.some((zodIssue) => zodIssue.path.length === 0 && isWrongKind(zodIssue))) ?? []
  )
}

const isWrongKind = (zodIssue: ZodIssue): boolean =>
  zodIssue.code === 'invalid_type' ||
  (zodIssue.code === 'custom' && (zodIssue.params?.kind === true || zodIssue.message === 'wrong type'))

const kinds: Readonly<Record<string, string>> = { object: 'a map', record: 'a map', array: 'a list' }

const describeExpected = (zodIssue: ZodIssue | undefined): string =>
  zodIssue?.code === 'invalid_type'
    ? (kinds[zodIssue.expected] ?? zodIssue.expected)
    : (getParam(zodIssue, 'expected') ?? 'another value')

const getParam = (zodIssue: ZodIssue | undefined, name: 'expected' | 'hint'): string | undefined => {
  const value: unknown = zodIssue?.code === 'custom' ? zodIssue.params?.[name] : undefined
  return typeof value === 'string' ? value : undefined
}

function unknownKeyIssue(parent: KeyPath, key: string): ConfigIssue {
  const known = knownKeys(parent)
  const renamed = findRenamed(key, known)
  if (renamed !== undefined) return renamedKeyIssue([...parent, key], renamed)
  const meant = suggestNearest(key, known)
  const message = meant === undefined ? 'unknown key' : `unknown key; did you mean "${meant}"?`
  const found = redactKey(key, parent)
  const hint = meant === undefined ? 'remove it, or indent it under the key that it belongs to' : undefined
  const expected = `one of ${known.join(', ')}`
  return { path: [...parent, key], keyFault: 'unknown', atKey: true, message, expected, found, hint }
}

function renamedKeyIssue(path: KeyPath, renamed: string): ConfigIssue {
  const found = redactKey(String(path.at(-1)), path.slice(0, -1))
  const message = `this key is now named ${renamed}`
  return { path, keyFault: 'unknown', atKey: true, message, expected: renamed, found, hint: `write ${renamed}` }
}

function wrongTypeIssue(path: KeyPath, expected: string, value: unknown): ConfigIssue {
  const found = describeFound(value, path)
  if (value === undefined)
    return { path, keyFault: 'missing', message: 'missing', expected, found: 'nothing', hint: 'add this key' }
  if (value === null)
    return { path, keyFault: 'empty', message: 'no value', expected, found, hint: 'write a value, or remove the key' }
  return { path, message: 'the wrong kind of value', expected, found, ...hintOfList(expected, value, path) }
}

function hintOfList(expected: string, value: unknown, path: KeyPath): Pick<ConfigIssue, 'hint'> {
  if (expected === kinds.array && describeFound(value, path) === 'a map')
    return { hint: 'begin each entry of the list with "- "' }
  const isEntry = expected === kinds.array && typeof value === 'string' && /^[\w./:%-]+$/.test(value)
  return isEntry && !holdsSecrets(path) ? { hint: `write [${value}]` } : {}
}

const mayHoldKey = /^\s*(?:\{|\[\s*[[{"])|-----BEGIN/

/** Never shows external values, field values, URLs with passwords, JSON or PEM. */
function describeFound(value: unknown, path: KeyPath): string {
  const written = value instanceof ExternalValue ? value.asWritten : value
  if (value instanceof ExternalValue && value.asWritten.startsWith('file:')) return `the contents of ${value.asWritten}`
  if (written === null || written === undefined) return 'nothing'
  if (Array.isArray(written)) return 'a list'
  if (typeof written === 'object') return 'a map'
  const isHidden = typeof written === 'string' && (/[@?#]/.test(written) || mayHoldKey.test(written))
  if (isHidden || holdsSecrets(path)) return `a ${typeof written}`
  return typeof written === 'string' ? quote(written) : String(written)
}

function outermostExternal(tree: unknown, path: KeyPath) {
  let value = tree
  for (const [depth, key] of path.entries()) {
    if (value instanceof ExternalValue) return { value, path: path.slice(0, depth) }
    value = rawAt(value, [key])
  }
  return undefined
}

/** Locating a problem takes a walk through the file, so further problems are only counted. */
const maxProblems = 1000

export function locateIssues(
  issues: readonly LocatableIssue[],
  { at, locate }: PositionLookup,
  file: string,
): readonly ConfigProblem[] {
  const problems = issues
    .slice(0, maxProblems)
    .map(({ path, atKey, offset, hint, keyFault: _, ...details }): ConfigProblem => {
      const position = offset === undefined ? locate(path, atKey) : at(offset)
      const problem = { file, ...position, path: formatKeyPath(path, redactKey), ...details }
      return hint === undefined ? problem : { ...problem, hint }
    })
  problems.sort((a, b) => a.line - b.line || a.column - b.column)
  const [last] = problems.slice(-1)
  const more = issues.length - problems.length
  if (last === undefined || more === 0) return problems
  const rest = fileProblem(file, `${more} more problems are not shown`, `at most ${maxProblems}`, `${issues.length}`)
  return [...problems, { ...rest, line: last.line, column: last.column }]
}

export function notUtf8Problem(bytes: Uint8Array, file: string): ConfigProblem {
  let line = 1
  let start = 0
  for (let end = bytes.indexOf(10); end !== -1 && isUtf8(bytes.subarray(start, end)); end = bytes.indexOf(10, start)) {
    start = end + 1
    line++
  }
  const problem = fileProblem(file, 'the file is not UTF-8', 'text in UTF-8', 'other bytes')
  return { ...problem, line, hint: 'save it as UTF-8' }
}

/** An unset variable would also have the wrong type. */
export const withoutRepeats = (later: readonly ConfigIssue[], earlier: readonly ConfigIssue[]) => {
  const known = new Set(earlier.filter(({ path }) => path.length > 0).map(({ path }) => formatKeyPath(path)))
  return later.filter(({ path }) => !known.has(formatKeyPath(path)))
}

/**
 * Drops the follow-on issues of one wrongly indented line: its key is missing in the parent, the parent is empty, and
 * the keys after it are unknown. The issue of the unknown key itself stays.
 */
export const dropCascadingIssues = <I extends ConfigIssue>(issues: readonly I[], tree: unknown): readonly I[] => {
  const unknownIssues = issues.filter(({ keyFault }) => keyFault === 'unknown')
  const unknown = new Map(unknownIssues.map((issue) => [formatKeyPath(issue.path), issue]))
  if (unknown.size === 0) return issues
  const cascading = new Set<ConfigIssue>()
  const addSiblings = (path: KeyPath | null, properParent: KeyPath): void => {
    const known = knownKeys(properParent)
    for (let next = path; next !== null; next = nextSibling(tree, next)) {
      const unknownIssue = unknown.get(formatKeyPath(next))
      if (unknownIssue === undefined || !known.includes(String(next.at(-1)))) return
      cascading.add(unknownIssue)
    }
  }

  const misplaced = [...unknown.values()].map(({ path }) => String(path.at(-1)))
  for (const issue of issues) {
    const { keyFault, path } = issue
    const [name, above] = [String(path.at(-1)), path.slice(0, -1)]
    if (keyFault === 'missing' && misplaced.includes(name)) {
      misplaced.splice(misplaced.indexOf(name), 1)
      cascading.add(issue)
    }
    if (keyFault === 'empty') {
      const next = nextKey(tree, path)
      if (next === null || !unknown.has(formatKeyPath(next)) || !knownKeys(path).includes(String(next.at(-1)))) continue
      cascading.add(issue)
      addSiblings(nextSibling(tree, next), path)
    }
    if (keyFault === 'unknown' && valueAt(tree, path) === null) {
      const outer = above.map((_, depth) => above.slice(0, depth)).find((each) => knownKeys(each).includes(name))
      if (outer !== undefined) addSiblings(nextSibling(tree, path), [...outer, name])
    }
  }
  return issues.filter((issue) => !cascading.has(issue))
}

const nextSibling = (tree: unknown, path: KeyPath): KeyPath | null => {
  const above = path.slice(0, -1)
  const map = valueAt(tree, above)
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return null
  const keys = Object.keys(map)
  const next = keys[keys.indexOf(String(path.at(-1))) + 1]
  return next === undefined ? null : [...above, next]
}

const nextKey = (tree: unknown, path: KeyPath): KeyPath | null =>
  path.length === 0 ? null : (nextSibling(tree, path) ?? nextKey(tree, path.slice(0, -1)))
