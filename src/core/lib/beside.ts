export type Beside<Name extends string> = { readonly after: Name } | { readonly before: Name }

/** Lists core's entries and those beside them; of several in one place, the first of `more` comes first. */
export const insertBeside = <Name extends string, T>(
  own: Readonly<Record<NoInfer<Name>, T>> & Readonly<Record<string, T>>,
  more: readonly (Beside<Name> & { readonly value: T })[],
): readonly T[] =>
  Object.entries<T>(own).flatMap(([name, value]) => [
    ...more.flatMap((each) => ('before' in each && each.before === name ? [each.value] : [])),
    value,
    ...more.flatMap((each) => ('after' in each && each.after === name ? [each.value] : [])),
  ])
