import { formatRate, parseRate, type Rate, ratePattern } from '../../units.ts'
import { scalar, Wrong } from './scalar.ts'

const most = 1_000_000

/** Reads how many a second or a minute. */
export const rate = (description: string) =>
  scalar<Rate>(
    {
      expected: `a rate from 1/min to ${most}/s, such as 100/s or 30/min`,
      read: (value) => {
        if (typeof value === 'boolean') return new Wrong('wrong type')
        const text = String(value)
        const parsed = parseRate(text)
        if (parsed === undefined) return new Wrong('not a rate', hint(text))
        if (parsed.count < 1) return new Wrong('too small', 'write at least 1/min')
        return parsed.count > most ? new Wrong('too large', `write at most ${most}/s`) : parsed
      },
      write: formatRate,
      json: { type: 'string', pattern: ratePattern },
    },
    description,
  )

/** Guesses what was meant by `100`, `100/sec`, `100 rps` or `5 / minute`. */
const hint = (text: string): string | undefined => {
  const [, count, unit = ''] = /^\s*(\d+)\s*(?:\/|per\b|r\/)?\s*([a-z]*)\s*$/i.exec(text) ?? []
  if (count === undefined) return undefined
  if (/^(|s|secs?|seconds?|rps)$/i.test(unit)) return `write ${formatRate({ count: Number(count), perMs: 1000 })}`
  return /^(m|mins?|minutes?|rpm)$/i.test(unit)
    ? `write ${formatRate({ count: Number(count), perMs: 60_000 })}`
    : undefined
}
