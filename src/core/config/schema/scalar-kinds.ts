import type { Notation } from '../../lib/text/units.ts'
import { renderPlain } from './annotations.ts'
import { InvalidScalar, type ScalarKind } from './scalar.ts'

export const hour = 3_600_000

export const day = 24 * hour

export const mebibyte = 1024 ** 2

/** Both ends included. */
export interface Range {
  readonly min?: number
  readonly max?: number
}

/** For `none` where {@link orNone} does not apply. */
const cannotDisable = 'this bound cannot be turned off: write a larger one, or leave the key out'

interface Quantity extends Required<Range> {
  readonly what: string
  /** Text in front of the range; `what` by default. */
  readonly lead?: string
  readonly examples: string
}

/** `name` is the definition in the JSON Schema; the range in `Quantity` is the widest. */
export const quantityKind =
  <N extends number>(
    name: string,
    { pattern, parse, format, suggest }: Notation<N>,
    { what, lead = what, examples, ...widest }: Quantity,
  ) =>
  ({ min = widest.min, max = widest.max }: Range): ScalarKind<N> => ({
    name,
    expected: `${lead} from ${format(min as N)} to ${format(max as N)}, such as ${examples}`,
    parse(value) {
      if (typeof value === 'boolean') return new InvalidScalar('wrong type')
      const text = String(value)
      const parsed = parse(text)
      if (parsed !== undefined) return withinRange(parsed, min, max, format)
      if (text === 'none') return new InvalidScalar(`not ${what}`, cannotDisable)
      const suggestion = suggest(text)
      const bare = /^\s*[\d.]+\s*$/.test(text)
      return new InvalidScalar(bare ? 'a unit is missing' : `not ${what}`, suggestion && `write ${suggestion}`)
    },
    render: format,
    json: { type: 'string', pattern },
  })

export const integerKind = ({ min, max }: Required<Range>): ScalarKind<number> => ({
  expected: `a whole number from ${min} to ${max}`,
  parse: (value, fromVariable) => {
    const numeric = typeof value === 'string' && /^\d+$/.test(value)
    if (numeric && !fromVariable)
      return new InvalidScalar('a number in quotes', `write ${Number(value)}, without quotes`)
    const number = numeric ? Number(value) : value
    if (typeof number !== 'number')
      return new InvalidScalar('not a number', number === 'none' ? cannotDisable : undefined)
    return Number.isInteger(number) ? withinRange(number, min, max, String) : new InvalidScalar('not a whole number')
  },
  json: { type: 'integer', minimum: min, maximum: max },
})

const withinRange = <N extends number>(value: N, min: number, max: number, format: (value: N) => string) => {
  if (value < min) return new InvalidScalar('too small', `write at least ${format(min as N)}`)
  return value > max ? new InvalidScalar('too large', `write at most ${format(max as N)}`) : value
}

/** `none` and `false` are 0, which is rendered as `none`. */
export const orZero = (kind: ScalarKind<number>): ScalarKind<number> => {
  const { parse, render = renderPlain, ...rest } = orNone(kind)
  return {
    ...rest,
    parse: (value, fromVariable) => parse(value, fromVariable) ?? 0,
    render: (value) => render(value === 0 ? null : value),
  }
}

/** `none` and `false` are null: no limit. */
export const orNone = <T>({
  name,
  expected,
  parse,
  render = renderPlain,
  json,
}: ScalarKind<T>): ScalarKind<T | null> => ({
  ...(name !== undefined && { name: `${name}OrNone` }),
  expected: `${expected}; or none`,
  parse: (value, fromVariable) => {
    if (value === 'none' || value === false || (fromVariable && value === 'false')) return null
    const parsed = parse(value, fromVariable)
    const off = typeof value === 'string' && /^(none|off|no|never|null|unlimited|infinity)$/i.test(value)
    return parsed instanceof InvalidScalar && off
      ? new InvalidScalar(parsed.message, 'write none to turn this bound off')
      : parsed
  },
  render: (value) => (value === null ? 'none' : render(value)),
  json: { anyOf: [json, { enum: ['none', false] }] },
})
