import type * as z from 'zod'
import { allOperations } from '../../operations.ts'
import type { Config } from '../config.ts'
import type { ParsedConfig } from '../config-schema.ts'
import type { ConfigIssue, KeyPath } from '../problem.ts'
import { ExternalValue } from '../schema/scalar.ts'
import { listenTlsSchema } from '../sections/listen.ts'

/** What a rule finds: one thing, several, or nothing. */
export type RuleResult = ConfigIssue | readonly RuleResult[] | false | null | undefined

/**
 * A rule about what no single key can tell, for a tree that is not checked yet. It reads the tree value by value and skips what is broken, so that
 * what it finds is told together with the problems of the schema.
 */
export type ConfigRule = (tree: unknown) => RuleResult

/** A rule about what works but was probably not meant, or must not be overlooked. */
export type WarningRule = (loaded: WarningInput) => RuleResult

/** A sound file, on a machine with so many cores. */
export interface WarningInput {
  readonly parsed: ParsedConfig
  readonly config: Config
  readonly cores: number
}

/** Lists what rules find, in their order. */
export const applyRules = <T>(rules: readonly ((subject: T) => RuleResult)[], subject: T): readonly ConfigIssue[] =>
  rules.flatMap((rule) => flattenResult(rule(subject)))

const flattenResult = (found: RuleResult): readonly ConfigIssue[] => {
  if (!found) return []
  return 'path' in found ? [found] : found.flatMap(flattenResult)
}

/** Finds a value in a tree that nobody has checked; undefined: it is not there. */
export function valueAt(tree: unknown, path: KeyPath): unknown {
  let value = tree
  for (const key of path) {
    if (typeof value !== 'object' || value === null || value instanceof ExternalValue) return undefined
    value = Object.getOwnPropertyDescriptor(value, key)?.value
  }
  return value
}

/** Reads a value as its schema does; undefined: it is broken, or it is not there and the schema has no default. */
export const parseAt = <T>(tree: unknown, schema: z.ZodType<T>, path: KeyPath): T | undefined =>
  schema.safeParse(valueAt(tree, path)).data

/** Finds the entries of a list; none where there is no list. */
export const listAt = (tree: unknown, path: KeyPath): readonly unknown[] => {
  const list = valueAt(tree, path)
  return Array.isArray(list) ? list : []
}

/** Tells whether the tree turns something on. */
export const isEnabledAt = (tree: unknown, path: KeyPath): boolean => {
  const value = valueAt(tree, path)
  return value !== undefined && value !== 'none' && value !== false
}

const authMethodPaths: readonly KeyPath[] = [
  ['auth', 'methods'],
  ...allOperations.map(({ id }): KeyPath => ['operations', id, 'auth', 'methods']),
]

/** Lists where the file says which methods are taken, with what it says there. */
export const authMethodLists = (
  tree: unknown,
): readonly { readonly path: KeyPath; readonly names: readonly unknown[] }[] =>
  authMethodPaths.flatMap((path) => {
    const names = valueAt(tree, path)
    return Array.isArray(names) ? [{ path, names }] : []
  })

/** Tells whether clients are asked for a certificate on the public listener; a broken value is told of by itself, and counts as if they were. */
export const requestsClientCertificates = (tree: unknown): boolean =>
  valueAt(tree, ['listen', 'tls']) !== undefined &&
  parseAt(tree, listenTlsSchema.shape.clientCertificates, ['listen', 'tls', 'clientCertificates']) !== 'none'
