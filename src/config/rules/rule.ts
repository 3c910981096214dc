import type * as z from 'zod'
import { catalog } from '../../catalog.ts'
import type { Config } from '../config.ts'
import type { Finding, Path } from '../problem.ts'
import { listenTlsSchema } from '../schema/listen.ts'
import { External } from '../schema/scalar.ts'
import type { ParsedConfig } from '../schema.ts'

/** What a rule finds: one thing, several, or nothing. */
export type Found = Finding | readonly Found[] | false | null | undefined

/**
 * A rule about what no single key can tell, for a tree that is not checked yet. It reads the tree value by value and skips what is broken, so that
 * what it finds is told together with the problems of the schema.
 */
export type Check = (tree: unknown) => Found

/** A rule about what works but was probably not meant, or must not be overlooked. */
export type Doubt = (loaded: Loaded) => Found

/** A sound file, on a machine with so many cores. */
export interface Loaded {
  readonly parsed: ParsedConfig
  readonly config: Config
  readonly cores: number
}

/** Lists what rules find, in their order. */
export const findingsBy = <T>(rules: readonly ((subject: T) => Found)[], subject: T): readonly Finding[] =>
  rules.flatMap((rule) => listed(rule(subject)))

const listed = (found: Found): readonly Finding[] => {
  if (!found) return []
  return 'path' in found ? [found] : found.flatMap(listed)
}

/** Finds a value in a tree that nobody has checked; undefined: it is not there. */
export function childAt(tree: unknown, path: Path): unknown {
  let value = tree
  for (const key of path) {
    if (typeof value !== 'object' || value === null || value instanceof External) return undefined
    value = Object.getOwnPropertyDescriptor(value, key)?.value
  }
  return value
}

/** Reads a value as its schema does; undefined: it is broken, or it is not there and the schema has no default. */
export const readAt = <T>(tree: unknown, schema: z.ZodType<T>, path: Path): T | undefined =>
  schema.safeParse(childAt(tree, path)).data

/** Finds the entries of a list; none where there is no list. */
export const listAt = (tree: unknown, path: Path): readonly unknown[] => {
  const list = childAt(tree, path)
  return Array.isArray(list) ? list : []
}

/** Tells whether the tree turns something on. */
export const isOnAt = (tree: unknown, path: Path): boolean => {
  const value = childAt(tree, path)
  return value !== undefined && value !== 'none' && value !== false
}

const methodPaths: readonly Path[] = [
  ['auth', 'methods'],
  ...catalog.map(({ id }): Path => ['operations', id, 'auth', 'methods']),
]

/** Lists where the file says which methods are taken, with what it says there. */
export const methodLists = (tree: unknown): readonly { readonly path: Path; readonly names: readonly unknown[] }[] =>
  methodPaths.flatMap((path) => {
    const names = childAt(tree, path)
    return Array.isArray(names) ? [{ path, names }] : []
  })

/** Tells whether clients are asked for a certificate on the public listener; a broken value is told of by itself, and counts as if they were. */
export const asksForCertificates = (tree: unknown): boolean =>
  childAt(tree, ['listen', 'tls']) !== undefined &&
  readAt(tree, listenTlsSchema.shape.clientCertificates, ['listen', 'tls', 'clientCertificates']) !== 'none'
