/** Applies a function to the keys of a table, so that all of it is compared with what the table says at once. */
export const applyToKeys = <T>(
  table: Readonly<Record<string, unknown>>,
  apply: (key: string) => T,
): Record<string, T> => Object.fromEntries(Object.keys(table).map((key) => [key, apply(key)]))

/** Pairs each input with what becomes of it; a test compares it with pairs of the same inputs and what is expected. */
export const pairWith = <I, O>(inputs: readonly I[], toOutput: (input: I) => O): (readonly [I, O])[] =>
  inputs.map((input) => [input, toOutput(input)])
