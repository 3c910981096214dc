import { isPlainObject } from '../lib/plain-object.ts'

/**
 * Adds numbers, lists of numbers by place, entries with a `count` by entry, and objects recursively; anything else is
 * from `template`. A number that is no counter needs the caller's rule.
 */
export const sumReports = <T>(template: T, each: readonly T[]): T => sumMembers(template, each) as T

const sumMembers = (template: unknown, each: readonly unknown[]): unknown => {
  if (typeof template === 'number') return sum(each.filter(isNumber))
  if (Array.isArray(template)) return sumLists(template, each.filter(Array.isArray))
  if (!isPlainObject(template)) return template
  const objects = each.filter(isPlainObject)
  const membersOf = (name: string): readonly unknown[] => objects.map((one) => one[name])
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, sumMembers(value, membersOf(name))]))
}

const sumLists = (template: readonly unknown[], each: readonly (readonly unknown[])[]): readonly unknown[] => {
  const all = each.flat()
  if (all.length > 0 && all.every(isCountEntry)) return sumEntries(all)
  return template.every(isNumber) ? template.map((_, i) => sum(each.map((one) => one[i]).filter(isNumber))) : template
}

// No word has a line break in it.
const sumEntries = (all: readonly CountEntry[]): readonly CountEntry[] =>
  groupByKey(all, ({ count: _, ...words }) => Object.values(words).join('\n')).map((same) => ({
    ...same[0],
    count: sum(pluck(same, 'count')),
  }))

export const pluck = <T, K extends keyof T>(each: readonly T[], key: K): readonly NonNullable<T[K]>[] =>
  each.map((one) => one[key]).filter((value) => value != null)

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

const isNumber = (value: unknown): value is number => typeof value === 'number'

type CountEntry = Readonly<{ count: number }>

const isCountEntry = (value: unknown): value is CountEntry => isPlainObject(value) && isNumber(value.count)

export type NonEmpty<T> = readonly [T, ...T[]]

export const groupByKey = <T>(all: readonly T[], keyOf: (one: T) => string): readonly NonEmpty<T>[] =>
  [...Map.groupBy(all, keyOf).values()] as unknown as readonly NonEmpty<T>[]

export const mergeBy = <T>(
  all: readonly T[],
  keyOf: (one: T) => string,
  merge: (same: NonEmpty<T>) => T,
): readonly T[] => groupByKey(all, keyOf).map(merge)
