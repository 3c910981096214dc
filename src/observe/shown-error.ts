/** Is an error as a line of the log shows it. */
interface ShownError {
  readonly type: string
  readonly message: string
  readonly code?: string
  /** Its own, and below it those of its causes. */
  readonly stack: string
}

// A chain may be a ring.
const mostCauses = 8

/**
 * Writes what may be shown of an error, and nothing that else hangs on it: those of Node and of libraries carry the bytes, the request or the
 * options that they are about, credentials among them. pino's own serializer copies all of that.
 */
export const shownError = (thrown: unknown): ShownError | string => {
  if (!(thrown instanceof Error)) return `a ${typeof thrown} was thrown`
  const { code } = thrown as NodeJS.ErrnoException
  const shown = { type: thrown.name, message: thrown.message, stack: stacks(thrown).join('\ncaused by: ') }
  return typeof code === 'string' ? { ...shown, code } : shown
}

const stacks = (error: Error): readonly string[] => {
  const found: string[] = []
  for (let at: unknown = error; at instanceof Error && found.length < mostCauses; at = at.cause)
    found.push(at.stack ?? `${at.name}: ${at.message}`)
  return found
}
