/** Returns what a function makes; null: it throws, for a reason that says no more, or must not be told. */
export const tryOrNull = <T>(make: () => T): T | null => {
  try {
    return make()
  } catch {
    return null
  }
}
