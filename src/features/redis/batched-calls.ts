import { withTimeout } from '../../core/lib/clock.ts'
import type { Channel, ProcessPlace } from '../../core/runtime/channel.ts'

/** Null or rejected: no query has a result. */
export type BatchCall<Query, Result> = (queries: readonly Query[]) => Promise<readonly Result[] | null>

/** With workers, only the primary remembers or counts; workers ask it. */
export type SharingRole<Query, Result> =
  | { readonly kind: 'alone' | 'primary' }
  | { readonly kind: 'worker'; readonly askPrimary: BatchCall<Query, Result> }

export const sharingRole = <Query, Result>(role: ProcessPlace['role'], channel: Channel): SharingRole<Query, Result> =>
  role === 'worker' ? { kind: role, askPrimary: (queries) => channel.ask(queries) } : { kind: role }

interface QueuedCall<Query, Result> {
  readonly query: Query
  readonly resolve: (result: Result | null) => void
}

/** Sends the queries of one turn of the event loop together. Null: no result within `timeoutMs`; never rejects. */
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
