import type * as z from 'zod'
import type { Config, ParsedConfig } from '../config.ts'
import type { ConfigIssue, KeyNeed, KeyPath } from '../problem.ts'
import { ExternalValue } from '../schema/scalar-kind.ts'

export type RuleResult = ConfigIssue | readonly RuleResult[] | false | null | undefined

/** A rule across keys. It skips broken values, whose issues come from the schema. */
export type ConfigRule = (tree: unknown) => RuleResult

export type WarningRule = (loaded: WarningInput) => RuleResult

export interface WarningInput {
  readonly parsed: ParsedConfig
  readonly config: Config
  readonly cores: number
  readonly processes: number
}

export type DividedLimit = readonly [path: KeyPath, limit: number | null | undefined]

export const applyRules = <T>(rules: readonly ((subject: T) => RuleResult)[], subject: T): readonly ConfigIssue[] =>
  rules.flatMap((rule) => flattenResult(rule(subject)))

const flattenResult = (found: RuleResult): readonly ConfigIssue[] => {
  if (!found) return []
  return 'path' in found ? [found] : found.flatMap(flattenResult)
}

export const findUnmetNeeds = (tree: unknown, base: KeyPath, needs: readonly KeyNeed[]): RuleResult =>
  needs.map(({ key, needs: other, ...issue }) => {
    const path = [...base, key]
    const isUnmet = valueAt(tree, path) !== undefined && valueAt(tree, [...base, other]) === undefined
    return isUnmet && { path, expected: `${other} beside it`, ...issue }
  })

export interface UniqueEntry {
  readonly name: string
  readonly path: () => KeyPath
}

export const findRepeats = (entries: readonly UniqueEntry[], message: string, hint: string): RuleResult => {
  const first = new Map(entries.map((entry) => [entry.name, entry] as const).reverse())
  return entries.map(
    (each) =>
      first.get(each.name) !== each && {
        path: each.path(),
        message,
        expected: 'each once',
        found: 'a duplicate',
        hint,
      },
  )
}

/** A value from outside the file is an {@link ExternalValue}, which rules read by {@link valueAt}. */
export function rawAt(tree: unknown, path: KeyPath): unknown {
  let value = tree
  for (const key of path) {
    if (typeof value !== 'object' || value === null || value instanceof ExternalValue) return undefined
    // Property descriptors would be slow: there may be thousands of clients.
    value = Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined
  }
  return value
}

/** The value to compare. Never show it: it may come from outside the file. */
export const valueAt = (tree: unknown, path: KeyPath): unknown => toPlain(rawAt(tree, path))

const toPlain = (value: unknown): unknown => (value instanceof ExternalValue ? value.text : value)

export const parseAt = <T>(tree: unknown, schema: z.ZodType<T>, path: KeyPath): T | undefined =>
  schema.safeParse(rawAt(tree, path)).data

export const listAt = (tree: unknown, path: KeyPath): readonly unknown[] => {
  const list = valueAt(tree, path)
  return Array.isArray(list) ? list.map(toPlain) : []
}

export const isEnabledAt = (tree: unknown, path: KeyPath): boolean => {
  const value = valueAt(tree, path)
  // A variable's `false` is text.
  return value !== undefined && value !== 'none' && value !== false && value !== 'false'
}
