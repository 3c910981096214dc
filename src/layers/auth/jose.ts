type Jose = typeof import('jose')

let loading: Promise<Jose> | null = null

/**
 * Gives the library that verifies signatures, and loads it when the first is to be verified: that takes tens of milliseconds. Where nobody shows a
 * token, and for commands that only describe what would happen, it costs nothing.
 */
export const loadJose = (): Promise<Jose> => {
  loading ??= import('jose')
  return loading
}
