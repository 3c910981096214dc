import { pause } from '../../../clock.ts'
import { parseDuration } from '../../../units.ts'
import { endOnSignals, endWithReader } from '../../pipe.ts'
import { understood } from '../answers.ts'
import { ask } from '../ask.ts'
import { findGateway, type Where } from '../find.ts'
import { noteDoubt, type Printing } from '../print.ts'
import { type RefusalStatus, type Refused, refused } from '../refusals-answer.ts'
import type { Target } from '../target.ts'
import { Unasked, unasked } from '../unasked.ts'
import { Follow } from './follow.ts'
import { refusalText } from './refusal-text.ts'

interface TailOptions extends Where, Printing {
  readonly since?: string
  readonly operation?: string
}

const everyMs = 1000
const limitMs = 5000

/** Prints the requests that a gateway refuses as they come, until the process is ended. Throws {@link Unasked} when it cannot be asked at first. */
export const tailRefused = async ({ format, since, operation, ...where }: TailOptions): Promise<never> => {
  const sinceMs = since === undefined ? 0 : parseDuration(since)
  if (sinceMs === undefined) throw unasked('--since: a duration such as 10m, 30s or 2h is expected')
  const target = await findGateway(where)
  const follow = new Follow()
  const write = format === 'json' ? JSON.stringify : refusalText
  const print = async (list: readonly RefusalStatus[]): Promise<void> => {
    const wanted = operation === undefined ? list : list.filter((each) => each.operation === operation)
    if (wanted.length > 0) await written(wanted.map((each) => `${write(each)}\n`).join(''))
  }
  endWithReader()
  endOnSignals()

  const first = await told(target)
  noteDoubt(target)
  await print(follow.next(first.told).fresh.filter((each) => Date.parse(each.at) >= first.at - sinceMs && sinceMs > 0))
  let lastAt = first.at
  let trouble: string | null = null
  for (;;) {
    await pause(everyMs)
    const next = await told(target).catch((error: unknown) => {
      if (error instanceof Unasked) return error.message
      throw error
    })
    if (typeof next === 'string') {
      if (trouble === null) note(`${next}; it is asked again every second`)
      trouble = next
      continue
    }
    const { fresh, missed } = follow.next(next.told)
    if (trouble !== null) note('it answers again')
    if (missed)
      note(
        `some of what was refused since ${new Date(lastAt).toISOString()} may be missing: it restarted, or there was too much`,
      )
    trouble = null
    lastAt = next.at
    await print(fresh)
  }
}

const told = async (target: Target): Promise<{ readonly told: Refused; readonly at: number }> => {
  const { body, at } = await ask(target, { method: 'GET', path: '/refused', limitMs })
  return { told: understood(target, body, refused), at }
}

const note = (text: string): void => void process.stderr.write(`lender-gateway: ${text}\n`)

/** Waits until a reader has taken it: nothing piles up here for one that does not. */
const written = (text: string): Promise<void> =>
  new Promise((resolve) => void process.stdout.write(text, () => resolve()))
