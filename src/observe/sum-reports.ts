/**
 * Adds up what several processes report, member by member: numbers are sums, in lists of numbers place by place, in lists of entries
 * with a `count` for each that differs in anything else, and in objects the same again. What is none of these is as in `like`.
 * So a count that is new needs no rule; what is a number and no count needs one, at the caller's.
 */
export const sumReports = <T>(template: T, each: readonly T[]): T => sumMembers(template, each) as T

const sumMembers = (template: unknown, each: readonly unknown[]): unknown => {
  if (typeof template === 'number') return sum(each.filter(isNumber))
  if (Array.isArray(template)) return sumLists(template, each.filter(Array.isArray))
  if (!isObject(template)) return template
  const objects = each.filter(isObject)
  return Object.fromEntries(
    Object.entries(template).map(([name, value]) => [
      name,
      sumMembers(
        value,
        objects.map((one) => one[name]),
      ),
    ]),
  )
}

const sumLists = (template: readonly unknown[], each: readonly (readonly unknown[])[]): readonly unknown[] => {
  const all = each.flat()
  if (all.length > 0 && all.every(isCountEntry)) return sumEntries(all)
  return template.every(isNumber) ? template.map((_, i) => sum(each.map((one) => one[i]).filter(isNumber))) : template
}

const sumEntries = (all: readonly CountEntry[]): readonly CountEntry[] =>
  // None of the words that are counted by has a line break in it.
  [...Map.groupBy(all, ({ count: _, ...words }) => Object.values(words).join('\n')).values()].map((same) => ({
    ...(same[0] as CountEntry),
    count: sum(same.map(({ count }) => count)),
  }))

interface CountEntry {
  readonly count: number
}

/** Lists what each says under a key, without those that say nothing. */
export const pluck = <T, K extends keyof T>(each: readonly T[], key: K): readonly NonNullable<T[K]>[] =>
  each.map((one) => one[key]).filter((value) => value != null)

/** Adds up; 0 for none. */
export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

const isNumber = (value: unknown): value is number => typeof value === 'number'

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isCountEntry = (value: unknown): value is CountEntry => isObject(value) && isNumber(value.count)

/** Tells the worst of several workers as the one does that says so first, and in how many it is so; null: there is no worker. */
export const worstWorker = <T extends { readonly since: number }>(
  workers: readonly T[],
  isBad: (worker: T) => boolean,
): (T & { readonly where: string | null }) | null => {
  const bad = workers.filter(isBad)
  const candidates = bad.length > 0 ? bad : workers
  const [first] = candidates.toSorted((a, b) => a.since - b.since)
  return first === undefined ? null : { ...first, where: workerShareText(candidates.length, workers.length) }
}

/** Says of how many workers something is true; null: of all. */
export const workerShareText = (are: number, all: number): string | null =>
  are === all ? null : `in ${are} of ${all} workers`
