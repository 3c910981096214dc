import type { Verdict } from '../upstream/endpoints.ts'
import type { Patience } from './patience.ts'
import type { Post } from './post.ts'
import type { PlainState } from './protocol.ts'
import { Gone } from './questions.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Is a state that all workers can put into effect. */
export interface Agreed {
  /** Has all of them do so, those too that began since. One that does not confirm is killed: its successor begins with the state. */
  commit(verdicts: readonly Verdict[]): Promise<void>
  discard(): void
}

let lastId = 0

/**
 * Has every worker prepare a state. Rejects when one of them cannot, or does not answer in time; nothing has changed then. One that ends
 * meanwhile does not count: its successor begins with what is in effect.
 */
export const agree = async (
  posts: readonly Post[],
  state: PlainState,
  { answerMs, startMs }: Pick<Patience, 'answerMs' | 'startMs'>,
): Promise<Agreed> => {
  const id = ++lastId
  const asked = new Set(posts.filter(({ isServing }) => isServing).flatMap(({ worker }) => worker ?? []))
  const discard = (): void => {
    for (const worker of asked) worker.send({ type: 'discard', prepared: id })
  }
  const refusals = await Promise.all(
    posts.map(async ({ number, worker }) => {
      if (worker === null || !asked.has(worker)) return null
      const reason = await reasonOf(worker.ask('prepare', { prepared: id, state }, answerMs))
      return reason === null ? null : `worker ${number} (process ${worker.pid}) ${reason}`
    }),
  )
  const refusal = refusals.find((reason) => reason !== null)
  if (refusal !== undefined) {
    discard()
    throw new Error(refusal)
  }

  const follow = async (worker: WorkerProcess, verdicts: readonly Verdict[], withinMs: number): Promise<void> => {
    // One that was still starting has not heard of it, and what it was started with is over.
    const prepared = asked.has(worker) ? null : reasonOf(worker.ask('prepare', { prepared: id, state }, withinMs))
    const committed = reasonOf(worker.ask('commit', { prepared: id, verdicts }, withinMs))
    const reason = (await prepared) ?? (await committed)
    if (reason !== null) worker.kill(`could not follow a reload: ${reason}`)
  }
  return {
    async commit(verdicts) {
      const following = posts.map(({ worker, isServing }) => {
        if (worker === null) return null
        if (isServing) return follow(worker, verdicts, answerMs)
        // Nobody waits for it: it hears of this before the first connection.
        void follow(worker, verdicts, startMs)
        return null
      })
      await Promise.all(following)
    },
    discard,
  }
}

/** Waits for an answer, and tells why there is none; null: there is, or nobody is left to give it. */
const reasonOf = async (answer: Promise<unknown>): Promise<string | null> => {
  try {
    await answer
    return null
  } catch (error) {
    if (error instanceof Gone) return null
    return error instanceof Error ? error.message : String(error)
  }
}
