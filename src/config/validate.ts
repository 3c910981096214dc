import type * as z from 'zod'
import { type Finding, type Path, quote } from './problem.ts'
import { holdsSecrets, knownKeys, shownKey } from './schema/places.ts'
import { External } from './schema/scalar.ts'
import { nearest } from './suggest.ts'

type Issue = z.core.$ZodIssue

/** Says in our words, with no value that may be a secret, what zod found; `tree` is the input that it was given. */
export function findingsOf(issues: readonly Issue[], tree: unknown): readonly Finding[] {
  const findings: Finding[] = []
  const seen = new Set<External>()
  for (const finding of issues.flatMap((issue) => translate(issue, [], tree))) {
    // zod takes text from the environment for a map of unknown keys: said once, of the text itself.
    const external = outermost(tree, finding.path)
    if (external === undefined) findings.push(finding)
    else if (!seen.has(external.value)) {
      seen.add(external.value)
      findings.push(wrongType(external.path, 'a map', external.value))
    }
  }
  return findings
}

function translate(issue: Issue, base: Path, tree: unknown): readonly Finding[] {
  const path = [...base, ...issue.path.filter((key) => typeof key !== 'symbol')]
  const value = valueAt(tree, path)
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(path, key))
  if (issue.code === 'invalid_key') {
    return issue.issues
      .flatMap((inner) => translate(inner, path, tree))
      .map((finding) => ({ ...finding, atKey: true, found: shownKey(String(path.at(-1)), path.slice(0, -1)) }))
  }
  if (issue.code === 'invalid_union' && (value === undefined || viable(issue.errors, value).length === 0)) {
    const isList = issue.errors.some((branch) =>
      branch.some((inner) => 'expected' in inner && inner.expected === 'array'),
    )
    return [wrongType(path, `${expectedOf(issue.errors[0]?.[0])}, or a ${isList ? 'list' : 'map'}`, value)]
  }
  if (issue.code === 'invalid_union') {
    return viable(issue.errors, value).flatMap((inner) => translate(inner, path, tree))
  }
  if (value === undefined || issue.code === 'invalid_type') return [wrongType(path, expectedOf(issue), value)]
  const found = show(value, path)
  if (issue.code === 'too_small') {
    const hint = path.at(-1) === 'endpoints' ? 'add a URL or sandbox' : 'add one, or remove the key'
    return [{ path, message: 'the list is empty', expected: 'at least one entry', found, hint }]
  }
  if (issue.code === 'too_big') {
    return [{ path, message: 'too many entries', expected: `at most ${issue.maximum}`, found }]
  }
  if (isWrongKind(issue)) return [wrongType(path, expectedOf(issue), value)]
  return [{ path, message: issue.message, expected: expectedOf(issue), found, hint: hintOf(issue) }]
}

/** Picks the branch of a union that the value was meant for: the one that at least agrees on text, list or map. */
function viable(branches: readonly (readonly Issue[])[], value: unknown): readonly Issue[] {
  if (value instanceof External) return branches[0] ?? []
  return branches.find((branch) => !branch.some((issue) => issue.path.length === 0 && isWrongKind(issue))) ?? []
}

const isWrongKind = (issue: Issue): boolean =>
  issue.code === 'invalid_type' ||
  (issue.code === 'custom' && (issue.params?.kind === true || issue.message === 'wrong type'))

const kinds: Readonly<Record<string, string>> = { object: 'a map', record: 'a map', array: 'a list' }

function expectedOf(issue: Issue | undefined): string {
  if (issue?.code === 'invalid_type') return kinds[issue.expected] ?? issue.expected
  if (issue?.code === 'custom' && typeof issue.params?.expected === 'string') return issue.params.expected
  return 'another value'
}

const hintOf = (issue: Issue): string | undefined =>
  issue.code === 'custom' && typeof issue.params?.hint === 'string' ? issue.params.hint : undefined

function unknownKey(parent: Path, key: string): Finding {
  const known = knownKeys(parent)
  const meant = nearest(key, known)
  const message = meant === undefined ? 'unknown key' : `unknown key; did you mean "${meant}"?`
  const found = shownKey(key, parent)
  const hint = meant === undefined ? 'remove it, or indent it under the key that it belongs to' : undefined
  return {
    path: [...parent, key],
    slip: 'unknown',
    atKey: true,
    message,
    expected: `one of ${known.join(', ')}`,
    found,
    hint,
  }
}

function wrongType(path: Path, expected: string, value: unknown): Finding {
  const found = show(value, path)
  if (value === undefined)
    return { path, slip: 'missing', message: 'missing', expected, found: 'nothing', hint: 'add this key' }
  if (value === null)
    return { path, slip: 'empty', message: 'no value', expected, found, hint: 'write a value, or remove the key' }
  return { path, message: 'the wrong kind of value', expected, found }
}

/** Prints what the file says, as far as that may be shown: not what came from elsewhere, no field value, no URL with a password. */
function show(value: unknown, path: Path): string {
  const said = value instanceof External ? value.shown : value
  if (said === null || said === undefined) return 'nothing'
  if (Array.isArray(said)) return 'a list'
  if (typeof said === 'object') return 'a map'
  if (holdsSecrets(path) || (typeof said === 'string' && /[@?#]/.test(said))) return `a ${typeof said}`
  return typeof said === 'string' ? quote(said) : String(said)
}

function valueAt(tree: unknown, path: Path): unknown {
  let value = tree
  for (const key of path) value = childOf(value, key)
  return value
}

function outermost(tree: unknown, path: Path): { readonly value: External; readonly path: Path } | undefined {
  let value = tree
  for (const [depth, key] of path.entries()) {
    if (value instanceof External) return { value, path: path.slice(0, depth) }
    value = childOf(value, key)
  }
  return undefined
}

function childOf(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof External) return undefined
  return Object.getOwnPropertyDescriptor(value, key)?.value
}
