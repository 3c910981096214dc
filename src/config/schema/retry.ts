import * as z from 'zod'
import type { Kind } from '../../failures/kinds.ts'
import { scalar, Wrong } from './scalar.ts'
import { duration, integer, percent } from './values.ts'

/** Lists the failures after which another attempt can make sense; what no attempt would change is not among them. */
const kinds = [
  'connect-failed',
  'connect-timeout',
  'tls-failed',
  'reset-before-headers',
  'headers-timeout',
  'bad-answer',
] as const satisfies readonly Kind[]

/** Lists the statuses that may say: another time, or another endpoint. */
const statuses = [429, 500, 502, 503, 504] as const

/** Is what may be followed by another attempt: a failure, or a status of the upstream. */
export type Cause = (typeof kinds)[number] | (typeof statuses)[number]

const causes: readonly Cause[] = [...kinds, ...statuses]

const cause = scalar<Cause>(
  {
    expected: `one of ${causes.join(', ')}`,
    read: (value, whole) => {
      const known = causes.find((each) => each === value || (whole && String(each) === value))
      if (known !== undefined) return known
      if (typeof value === 'boolean') return new Wrong('wrong type')
      const named = causes.find((each) => String(each) === String(value).trim().toLowerCase())
      const plain = typeof named === 'number' ? `write ${named}, without quotes` : named && `write ${named}`
      return new Wrong('not what a retry can follow', plain)
    },
    json: { enum: causes },
  },
  'A failure, or a status of the upstream',
)

const on = z
  .array(cause)
  .min(1)
  .check((context) => {
    for (const [index, each] of context.value.entries()) {
      if (context.value.indexOf(each) === index) continue
      const params = { expected: 'each once', hint: 'remove one of the two' }
      context.issues.push({ code: 'custom', message: `${each} twice`, params, path: [index], input: each })
    }
  })
  .meta({ description: 'What is followed by another attempt', uniqueItems: true })
  .transform((given): readonly Cause[] => causes.filter((each) => given.includes(each)))

const pause = (description: string) => duration(description, { max: 60_000 })

/** Describes which attempts are followed by another; carries the built-in values. */
export const retrySchema = z
  .strictObject({
    attempts: integer('Most attempts, the first included', { min: 2, max: 10 }).prefault(3),
    on: on.prefault([
      'connect-failed',
      'connect-timeout',
      'tls-failed',
      'reset-before-headers',
      'bad-answer',
      502,
      503,
      504,
    ]),
    backoff: z
      .strictObject({
        base: pause('Longest pause before the second attempt; doubled for each further one').prefault('25ms'),
        max: pause('Longest pause at all').prefault('250ms'),
      })
      .meta({ description: 'The pauses between attempts, each a random part of its longest' })
      .prefault({}),
    budget: z
      .strictObject({
        share: percent('Retries are at most this share of the requests …').prefault('10%'),
        floor: integer('… and so many a second more', { min: 0, max: 1000 }).prefault(3),
      })
      .meta({ description: 'How many retries there may be, so that they are never what keeps an upstream down' })
      .prefault({}),
  })
  .meta({ description: 'Which attempts are followed by another' })
