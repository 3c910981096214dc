import { type BatchCall, batchCalls } from '../../../core/lib/scheduling/batched-calls.ts'
import type {
  CallOf,
  IdempotencyCall,
  IdempotencyReplies,
  IdempotencyReply,
  IdempotencyStore,
} from './idempotency-store.ts'

// How long a worker waits for the primary. Nothing can stand in for its reply.
const replyTimeoutMs = 1000

/** Creates a store that asks the primary, which remembers for all workers. */
export const remoteIdempotencyStore = (callAll: BatchCall<IdempotencyCall, IdempotencyReply>): IdempotencyStore => {
  const call = batchCalls(callAll, replyTimeoutMs)
  return {
    call: <Type extends IdempotencyCall['type']>(query: CallOf<Type>) =>
      call(query) as Promise<IdempotencyReplies[Type] | null>,
  }
}
