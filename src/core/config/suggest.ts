import { distance } from 'fastest-levenshtein'
import { allOperations, type Operation } from '../../operations.ts'
import { findRenamed } from './renamed.ts'

export function suggestNearest(key: string, known: readonly string[]): string | undefined {
  const renamed = findRenamed(key, known)
  if (renamed !== undefined) return renamed
  const folded = key.toLowerCase()
  // Two swapped letters count as two edits.
  const maxEdits = key.length < 3 ? 1 : Math.max(2, Math.floor(key.length * 0.4))
  let best: string | undefined
  let fewestEdits = maxEdits + 1
  for (const candidate of known) {
    const foldedCandidate = candidate.toLowerCase()
    // A length difference is a lower bound. Clients choose `key`: a long one must not make the comparison slow.
    if (Math.abs(folded.length - foldedCandidate.length) >= fewestEdits) continue
    const edits = distance(folded, foldedCandidate)
    if (edits < fewestEdits) {
      best = candidate
      fewestEdits = edits
    }
  }
  return best
}

interface PathContext {
  readonly basePath: string
  readonly baseKey: string
  readonly show?: Show
}

type Show = (written: string) => string

/**
 * May guess, because it decides nothing: each step removes and names one difference from a known path. `show` renders
 * the client's text, or hides it.
 */
export const explainPathMismatch = (path: string, { basePath, baseKey, show = String }: PathContext) => {
  const isUnder = (written: string): boolean => written.startsWith(`${basePath}/`)
  const differs: string[] = []
  let isBelowBase = isUnder(path)
  let plain = isBelowBase ? path.slice(basePath.length) : path
  for (const step of normalizationSteps(show)) {
    const [next, ...differences] = step(plain)
    if (next === plain) continue
    differs.push(...differences)
    plain = next
  }
  if (!isBelowBase && isUnder(plain)) {
    isBelowBase = true
    plain = plain.slice(basePath.length)
  }
  const found = allOperations.find((row) => contains(plain.toLowerCase(), row.path))
  if (found !== undefined) {
    differs.push(...describeAround(plain, found, isBelowBase, { basePath, baseKey, show }))
    return { differs, meant: found }
  }

  // A client with the wrong base path may have the wrong path too.
  const paths = ['', basePath].flatMap((base) => allOperations.map((row) => base + row.path))
  const known = suggestNearest(plain, paths)
  const meant = allOperations.find((row) => known === row.path || known === basePath + row.path) ?? null
  const summary =
    meant === null ? 'it is none of the nine paths' : `it is none of the nine paths; the nearest is ${meant.path}`
  return { differs: [...differs, summary], meant }
}

type NormalizationStep = (path: string) => readonly [path: string, ...differences: string[]]

const decodeEscapes =
  (show: Show): NormalizationStep =>
  (path) => {
    const differences = new Set<string>()
    let plain = path
    for (let depth = 0; depth < 3; depth++) {
      plain = plain.replaceAll(/%([0-9a-f]{2})/gi, (written, hex) => {
        const character = String.fromCharCode(Number.parseInt(hex, 16))
        if (!/[\x21-\x7e]/.test(character)) return written
        differences.add(`the escape ${show(written)} stands for "${show(character)}", which must not be escaped`)
        return character
      })
    }
    return [plain, ...differences]
  }

const dropMatch =
  (pattern: RegExp, describe: (dropped: string) => string): NormalizationStep =>
  (path) => [path.replace(pattern, ''), describe(path.match(pattern)?.[0] ?? '')]

/** RFC 3986 §5.2.4. Only for the suggestion: servers resolve dot segments in different orders. */
const resolveDotSegments: NormalizationStep = (path) => {
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') kept.splice(Math.max(1, kept.length - 1))
    else if (segment !== '.') kept.push(segment)
  }
  return [kept.join('/'), 'it contains a dot segment, which is not resolved']
}

const normalizationSteps = (show: Show): readonly NormalizationStep[] => [
  decodeEscapes(show),
  dropMatch(/\?.*$/, (query) => `the query begins with an escaped "?": ${show(query)} is part of the path`),
  dropMatch(/&.*$/, (query) => `the query begins with "&" and not with "?": ${show(query)} is part of the path`),
  (path) => [path.replaceAll('\\', '/'), 'a backslash is not a slash'],
  dropMatch(/;[^/]*/g, (parameter) => `a parameter behind ";" is part of the path: ${show(parameter)}`),
  (path) => [path.replaceAll(/\/{2,}/g, '/'), 'a slash is doubled'],
  resolveDotSegments,
  (path) => [path.replace(/(?<=.)\/$/, ''), 'it ends with a slash'],
]

const contains = (path: string, known: string): boolean => path.endsWith(known) || path.includes(`${known}/`)

const describeAround = (
  plain: string,
  { path }: Operation,
  isBelowBase: boolean,
  { basePath, baseKey, show }: Required<PathContext>,
): readonly string[] => {
  const start = plain.toLowerCase().indexOf(path)
  const before = plain.slice(0, start)
  const after = plain.slice(start + path.length)
  const differences: string[] = []
  if (basePath !== '' && !isBelowBase) {
    if (before === '') differences.push(`${basePath} is missing in front of it: ${baseKey}`)
    else if (before.toLowerCase() === basePath.toLowerCase()) differences.push(`${show(before)} is written ${basePath}`)
    else differences.push(`it begins with ${show(before)} and not with ${basePath}: ${baseKey}`)
  } else if (before !== '') {
    const where = basePath === '' ? 'in front of it, and nothing should' : `between ${basePath} and the path`
    differences.push(`${show(before)} stands ${where}: ${baseKey}`)
  }
  const middle = plain.slice(start, start + path.length)
  if (middle !== path) differences.push(`upper case: ${show(middle)} is written ${path}`)
  if (after !== '') differences.push(`${show(after)} follows it, and there is nothing below the nine paths`)
  return differences
}
