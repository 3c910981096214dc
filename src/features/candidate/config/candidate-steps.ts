import * as z from 'zod'
import { optionalKey } from '../../../core/config/schema/annotations.ts'
import { optionalPolicy } from '../../../core/config/schema/inheritance.ts'
import { InvalidScalar, scalar, textParser } from '../../../core/config/schema/scalar.ts'
import { day } from '../../../core/config/schema/scalar-kinds.ts'
import { duration, percent, reject } from '../../../core/config/schema/scalar-types.ts'

/** The smallest share that is more than none. */
export const leastShare = 0.0001

const maxSteps = 20

const shares = z
  .array(percent('The share of a step', { min: leastShare }))
  .min(1)
  .max(maxSteps)
  .check((context) => {
    const at = context.value.findIndex((share, index) => share <= (context.value[index - 1] ?? 0))
    const hint = 'write them in order: [1%, 5%, 25%, 100%]'
    if (at >= 0) reject(context, 'not rising', 'each more than the one before', hint, [at])
  })
  .meta({ description: 'The shares, one after the other' })

// RFC 3339 §5.6, with seconds and a zone: a time without one is another elsewhere.
const timePattern = '^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,3})?([Zz]|[+-]\\d{2}:\\d{2})$'

/** The schema of a point in time, parsed to milliseconds since the epoch. */
const time = (description: string) =>
  scalar<number>(
    {
      expected: 'a time such as 2026-11-23T22:00:00Z',
      parse: textParser((value) => {
        const parsed = new RegExp(timePattern).test(value) ? Date.parse(value) : Number.NaN
        if (Number.isNaN(parsed))
          return new InvalidScalar('not a time', 'write the date, T, the time with seconds, and Z or the offset')
        // To Date.parse, 30 February is 2 March.
        const day = value.slice(0, 'YYYY-MM-DD'.length)
        return new Date(day).toISOString().startsWith(day)
          ? parsed
          : new InvalidScalar('no such day', 'write the last day of the month, or one of the next')
      }),
      render: (value) => new Date(value).toISOString(),
      json: { type: 'string', pattern: timePattern },
    },
    description,
  )

export const stepsSchema = optionalPolicy(
  z
    .strictObject({
      shares,
      every: duration('How long each share holds before the next', { min: 1000, max: 7 * day }),
      startedAt: optionalKey(time('When the first began or begins; without it, when the gateway has the steps')),
    })
    .meta({ description: 'Shares that follow each other by themselves, until one is taken back' }),
  '{ shares: [1%, 5%, 25%, 100%], every: 15m }',
)
