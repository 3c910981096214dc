/**
 * Creates a function that confirms what was sent on a connection before: `sendWait` sends `WAIT` there, and resolves
 * with how many replicas have it. The function rejects when there are fewer than `replicas`.
 *
 * Redis runs no other command of the connection while it waits. So one `WAIT` at a time is on its way, and the next is
 * for all that was sent meanwhile.
 */
export const replicaConfirmation = (replicas: number, sendWait: () => Promise<unknown>): (() => Promise<void>) => {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | null = null
  const wait = async (): Promise<void> => {
    next = null
    const reached = await sendWait()
    const count = typeof reached === 'number' ? reached : 0
    if (count < replicas) throw new Error(`${count} of ${replicas} replicas have what was written`)
  }
  return () => {
    if (next === null) {
      next = last.then(wait)
      last = next.catch(() => {})
    }
    return next
  }
}
