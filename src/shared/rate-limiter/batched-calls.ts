import { withTimeout } from '../../clock.ts'

/** Asks for many at once; null, or a rejection: nobody knows. */
export type BatchCall<Question, Answer> = (questions: readonly Question[]) => Promise<readonly Answer[] | null>

interface QueuedCall<Question, Answer> {
  readonly question: Question
  readonly answered: (answer: Answer | null) => void
}

/**
 * Gathers the questions of one turn of the event loop and asks them together. Whoever has no answer after `withinMs` gets null, and never
 * a rejection.
 */
export const batchCalls = <Question, Answer>(
  callAll: BatchCall<Question, Answer>,
  withinMs: number,
): ((question: Question) => Promise<Answer | null>) => {
  let gathered: QueuedCall<Question, Answer>[] | null = null

  const send = (batch: readonly QueuedCall<Question, Answer>[]): void => {
    const settle = (answers: readonly Answer[] | null): void =>
      batch.forEach(({ answered }, nth) => {
        answered(answers?.[nth] ?? null)
      })
    withTimeout(callAll(batch.map(({ question }) => question)), withinMs).then(settle, () => settle(null))
  }

  return (question) =>
    new Promise((answered) => {
      if (gathered === null) {
        const batch: QueuedCall<Question, Answer>[] = []
        gathered = batch
        setImmediate(() => {
          gathered = null
          send(batch)
        })
      }
      gathered.push({ question, answered })
    })
}
