/** Returns the message of what was thrown, which may be no `Error`. */
export const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
