import { allOperations, type Operation } from '../operations.ts'
import { suggestNearest } from './suggest.ts'

/** Says what keeps a path from being one of the nine, and which it was probably meant to be. */
export interface PathMismatch {
  readonly differs: readonly string[]
  readonly meant: Operation | null
}

/** Is where the nine stand, and the key of the file that says so. */
interface PathContext {
  readonly basePath: string
  readonly baseKey: string
  readonly show?: Show
}

type Show = (written: string) => string

/**
 * Finds out how a path that the gateway does not know differs from one that it does. It decides nothing, so it may guess: each step takes
 * one kind of difference away and says so. `show` writes what the client wrote: as it is, for whoever wrote it, or not at all.
 */
export const explainPathMismatch = (path: string, { basePath, baseKey, show = String }: PathContext): PathMismatch => {
  const isUnder = (written: string): boolean => written.startsWith(`${basePath}/`)
  const differs: string[] = []
  let isBelowBase = isUnder(path)
  let plain = isBelowBase ? path.slice(basePath.length) : path
  for (const step of normalizationSteps(show)) {
    const [next, ...said] = step(plain)
    if (next === plain) continue
    differs.push(...said)
    plain = next
  }
  if (!isBelowBase && isUnder(plain)) {
    isBelowBase = true // what differed stood in the base path
    plain = plain.slice(basePath.length)
  }
  const found = allOperations.find((row) => contains(plain.toLowerCase(), row.path))
  if (found !== undefined)
    return {
      differs: [...differs, ...describeAround(plain, found, isBelowBase, { basePath, baseKey, show })],
      meant: found,
    }

  // A client that has the wrong base may have the wrong path as well.
  const known = suggestNearest(plain, [
    ...allOperations.map((row) => row.path),
    ...allOperations.map((row) => basePath + row.path),
  ])
  const meant = allOperations.find((row) => known === row.path || known === basePath + row.path) ?? null
  const said = meant === null ? 'it is none of the nine' : `it is none of the nine; the nearest is ${meant.path}`
  return { differs: [...differs, said], meant }
}

type Step = (path: string) => readonly [path: string, ...said: string[]]

/** Takes escapes back, twofold ones too, and names each. */
const decodeEscapes =
  (show: Show): Step =>
  (path) => {
    const said = new Set<string>()
    let plain = path
    for (let depth = 0; depth < 3; depth++) {
      plain = plain.replaceAll(/%([0-9a-f]{2})/gi, (written, hex) => {
        const character = String.fromCharCode(Number.parseInt(hex, 16))
        if (!/[\x21-\x7e]/.test(character)) return written
        said.add(`the escape ${show(written)} stands for "${show(character)}", and an alias is not the path`)
        return character
      })
    }
    return [plain, ...said]
  }

const dropMatch =
  (pattern: RegExp, said: (dropped: string) => string): Step =>
  (path) => {
    const [dropped = ''] = pattern.exec(path) ?? []
    return [path.replace(pattern, ''), said(dropped)]
  }

/** Resolves what a file system or a browser would (RFC 3986 §5.2.4). The gateway does not: some servers do it in another order. */
const resolveDotSegments: Step = (path) => {
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') kept.splice(Math.max(1, kept.length - 1))
    else if (segment !== '.') kept.push(segment)
  }
  return [kept.join('/'), 'a dot segment stands in it, and is not resolved']
}

const normalizationSteps = (show: Show): readonly Step[] => [
  decodeEscapes(show),
  dropMatch(/\?.*$/, (query) => `the query begins with an escaped "?": ${show(query)} is part of the path`),
  dropMatch(/&.*$/, (query) => `the query begins with "&" and not with "?": ${show(query)} is part of the path`),
  (path) => [path.replaceAll('\\', '/'), 'a backslash is not a slash'],
  (path) => [
    path.replaceAll(/;[^/]*/g, ''),
    `a parameter behind ";" is part of the path: ${show(/;[^/]*/.exec(path)?.[0] ?? '')}`,
  ],
  (path) => [path.replaceAll(/\/{2,}/g, '/'), 'a slash is doubled'],
  resolveDotSegments,
  (path) => [path.replace(/(?<=.)\/$/, ''), 'a slash is at its end'],
]

const contains = (path: string, known: string): boolean => path.endsWith(known) || path.includes(`${known}/`)

/** Says what stands in front of a known path and behind it, and which letters are of another case. */
const describeAround = (
  plain: string,
  { path }: Operation,
  isBelowBase: boolean,
  { basePath, baseKey, show }: Required<PathContext>,
): readonly string[] => {
  const at = plain.toLowerCase().indexOf(path)
  const before = plain.slice(0, at)
  const behind = plain.slice(at + path.length)
  const said: string[] = []
  if (basePath !== '' && !isBelowBase) {
    if (before === '') said.push(`${basePath} is missing in front of it: ${baseKey}`)
    else if (before.toLowerCase() === basePath.toLowerCase()) said.push(`${show(before)} is written ${basePath}`)
    else said.push(`it begins with ${show(before)} and not with ${basePath}: ${baseKey}`)
  } else if (before !== '') {
    said.push(
      basePath === ''
        ? `${show(before)} stands in front of it, and nothing should: ${baseKey}`
        : `${show(before)} stands between ${basePath} and the path: ${baseKey}`,
    )
  }
  const middle = plain.slice(at, at + path.length)
  if (middle !== path) said.push(`upper case: ${show(middle)} is written ${path}`)
  if (behind !== '') said.push(`${show(behind)} stands behind it, and there is nothing below the nine paths`)
  return said
}
