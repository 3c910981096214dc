type Jose = typeof import('jose')

let loading: Promise<Jose> | null = null

/**
 * Loads the library that verifies signatures, at the first verification: loading takes tens of milliseconds. A gateway
 * whose clients present no token, and a command that only describes what would happen, never load it.
 */
export const loadJose = (): Promise<Jose> => {
  loading ??= import('jose').catch((error: unknown) => {
    loading = null // without a file descriptor, say: the next token tries again
    throw error
  })
  return loading
}
