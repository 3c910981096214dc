import type * as z from 'zod'
import { type ConfigIssue, type KeyPath, quote } from '../problem.ts'
import { rawAt } from '../rules/rule.ts'
import { ExternalValue } from '../schema/scalar.ts'
import { holdsSecrets, knownKeys, redactKey } from '../schema/schema-keys.ts'
import { suggestNearest } from '../suggest.ts'

type ZodIssue = z.core.$ZodIssue

/** Translates the issues of zod into the gateway's, without values that may be secrets. `tree` is the input of zod. */
export function issuesFromZod(zodIssues: readonly ZodIssue[], tree: unknown): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = []
  const seen = new Set<ExternalValue>()
  for (const issue of zodIssues.flatMap((zodIssue) => translateIssue(zodIssue, [], tree))) {
    // zod takes an ExternalValue for a map of unknown keys: one issue, of the value itself.
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
  if (
    zodIssue.code === 'invalid_union' &&
    (value === undefined || matchingBranch(zodIssue.errors, value).length === 0)
  ) {
    const isList = zodIssue.errors.some((branch) =>
      branch.some((inner) => 'expected' in inner && inner.expected === 'array'),
    )
    const expected = describeExpected(zodIssue.errors[0]?.[0])
    const isWhole = expected.includes(', or a map such as ')
    return [wrongTypeIssue(path, isWhole ? expected : `${expected}, or a ${isList ? 'list' : 'map'}`, value)]
  }
  if (zodIssue.code === 'invalid_union')
    return matchingBranch(zodIssue.errors, value).flatMap((inner) => translateIssue(inner, path, tree))
  if (value === undefined || zodIssue.code === 'invalid_type')
    return [wrongTypeIssue(path, describeExpected(zodIssue), value)]
  const found = describeFound(value, path)
  if (zodIssue.code === 'too_small') {
    const hint = path.at(-1) === 'endpoints' ? 'add a URL or sandbox' : 'add one, or remove the key'
    return [{ path, message: 'the list is empty', expected: 'at least one entry', found, hint }]
  }
  if (zodIssue.code === 'too_big')
    return [{ path, message: 'too many entries', expected: `at most ${zodIssue.maximum}`, found }]
  if (isWrongKind(zodIssue)) {
    const issue = wrongTypeIssue(path, describeExpected(zodIssue), value)
    return [{ ...issue, hint: getHint(zodIssue) ?? issue.hint }]
  }
  return [{ path, message: zodIssue.message, expected: describeExpected(zodIssue), found, hint: getHint(zodIssue) }]
}

/** Picks the branch of a union that the value was meant for: the one that agrees at least on text, list or map. */
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

function describeExpected(zodIssue: ZodIssue | undefined): string {
  if (zodIssue?.code === 'invalid_type') return kinds[zodIssue.expected] ?? zodIssue.expected
  if (zodIssue?.code === 'custom' && typeof zodIssue.params?.expected === 'string') return zodIssue.params.expected
  return 'another value'
}

const getHint = (zodIssue: ZodIssue): string | undefined =>
  zodIssue.code === 'custom' && typeof zodIssue.params?.hint === 'string' ? zodIssue.params.hint : undefined

function unknownKeyIssue(parent: KeyPath, key: string): ConfigIssue {
  const known = knownKeys(parent)
  const meant = suggestNearest(key, known)
  const message = meant === undefined ? 'unknown key' : `unknown key; did you mean "${meant}"?`
  const found = redactKey(key, parent)
  const hint = meant === undefined ? 'remove it, or indent it under the key that it belongs to' : undefined
  return {
    path: [...parent, key],
    keyFault: 'unknown',
    atKey: true,
    message,
    expected: `one of ${known.join(', ')}`,
    found,
    hint,
  }
}

function wrongTypeIssue(path: KeyPath, expected: string, value: unknown): ConfigIssue {
  const found = describeFound(value, path)
  if (value === undefined)
    return { path, keyFault: 'missing', message: 'missing', expected, found: 'nothing', hint: 'add this key' }
  if (value === null)
    return { path, keyFault: 'empty', message: 'no value', expected, found, hint: 'write a value, or remove the key' }
  return { path, message: 'the wrong kind of value', expected, found, ...hintOfList(expected, value, path) }
}

/** Suggests a list of one for a value that stands alone, as far as it may be shown. */
function hintOfList(expected: string, value: unknown, path: KeyPath): Pick<ConfigIssue, 'hint'> {
  if (expected === kinds.array && describeFound(value, path) === 'a map')
    return { hint: 'begin each entry of the list with "- "' }
  const isEntry = expected === kinds.array && typeof value === 'string' && /^[\w./:%-]+$/.test(value)
  return isEntry && !holdsSecrets(path) ? { hint: `write [${value}]` } : {}
}

// Where a key set or a certificate is meant, a secret key may stand.
const mayHoldKey = /^\s*(?:\{|\[\s*[[{"])|-----BEGIN/

/**
 * Describes a value of the file as far as it may be shown: no external value, no field value, no URL with a password,
 * no JSON and no PEM.
 */
function describeFound(value: unknown, path: KeyPath): string {
  const written = value instanceof ExternalValue ? value.asWritten : value
  // Which file it is stands in the configuration. What is in it may be a secret.
  if (value instanceof ExternalValue && value.asWritten.startsWith('file:')) return `the contents of ${value.asWritten}`
  if (written === null || written === undefined) return 'nothing'
  if (Array.isArray(written)) return 'a list'
  if (typeof written === 'object') return 'a map'
  const isHidden = typeof written === 'string' && (/[@?#]/.test(written) || mayHoldKey.test(written))
  if (isHidden || holdsSecrets(path)) return `a ${typeof written}`
  return typeof written === 'string' ? quote(written) : String(written)
}

function outermostExternal(
  tree: unknown,
  path: KeyPath,
): { readonly value: ExternalValue; readonly path: KeyPath } | undefined {
  let value = tree
  for (const [depth, key] of path.entries()) {
    if (value instanceof ExternalValue) return { value, path: path.slice(0, depth) }
    value = rawAt(value, [key])
  }
  return undefined
}
