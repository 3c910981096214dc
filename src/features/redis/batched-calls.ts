import { withTimeout } from '../../core/lib/clock.ts'

/** Sends many queries at once. Null, or a rejection: none has a result. */
export type BatchCall<Query, Result> = (queries: readonly Query[]) => Promise<readonly Result[] | null>

interface QueuedCall<Query, Result> {
  readonly query: Query
  readonly resolve: (result: Result | null) => void
}

/**
 * Gathers the queries of one turn of the event loop and sends them together. A query without a result after `timeoutMs`
 * resolves with null, and never rejects.
 */
export const batchCalls = <Query, Result>(
  callAll: BatchCall<Query, Result>,
  timeoutMs: number,
): ((query: Query) => Promise<Result | null>) => {
  let gathered: QueuedCall<Query, Result>[] | null = null

  const send = (batch: readonly QueuedCall<Query, Result>[]): void => {
    const settle = (results: readonly Result[] | null): void =>
      batch.forEach(({ resolve }, nth) => {
        resolve(results?.[nth] ?? null)
      })
    withTimeout(callAll(batch.map(({ query }) => query)), timeoutMs).then(settle, () => settle(null))
  }

  return (query) =>
    new Promise((resolve) => {
      if (gathered === null) {
        const batch: QueuedCall<Query, Result>[] = []
        gathered = batch
        setImmediate(() => {
          gathered = null
          send(batch)
        })
      }
      gathered.push({ query, resolve })
    })
}
