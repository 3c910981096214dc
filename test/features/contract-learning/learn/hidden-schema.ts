/** Interfaces that learning does not know, and the traffic that they make. */

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'

/** What a back end might ask of one value. */
export type HiddenSchema =
  | { readonly type: 'text' | 'integer' | 'number' | 'boolean' | TextFormat }
  | { readonly type: 'code'; readonly codes: readonly string[] }
  | { readonly type: 'nullable'; readonly of: HiddenSchema }
  | { readonly type: 'array'; readonly items: HiddenSchema }
  | { readonly type: 'map'; readonly keys: 'uuid' | 'number' | 'word'; readonly values: HiddenSchema }
  | { readonly type: 'object'; readonly members: readonly HiddenMember[] }

type TextFormat = 'uuid' | 'date' | 'date-time' | 'email' | 'uri' | 'digits' | 'decimal'

interface HiddenMember {
  readonly name: string
  readonly schema: HiddenSchema
  readonly required: boolean
}

type HiddenObject = Extract<HiddenSchema, { readonly type: 'object' }>

const names = `id amount currency applicantId createdAt due_date interestRate term-months address1 line2 Email website
  esgScore items total status reason zip_code übersicht @type $ref a x score.value history limit
  30DaysLate loanToValue assets valuation coBorrower`.split(/\s+/)

const codes = ['APPROVED', 'DECLINED', 'IN_REVIEW', 'A', 'B', 'pending', 'closed', 'EUR', 'USD', 'first-lien']

const scalarType = fc.constantFrom(
  ...([
    'text',
    'integer',
    'number',
    'boolean',
    'uuid',
    'date',
    'date-time',
    'email',
    'uri',
    'digits',
    'decimal',
  ] as const),
)

const { object } = fc.letrec<{ value: HiddenSchema; object: HiddenObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalarType.map((type) => ({ type })),
    fc.record({
      type: fc.constant('code' as const),
      codes: fc.uniqueArray(fc.constantFrom(...codes), { minLength: 2 }),
    }),
    fc.record({ type: fc.constant('nullable' as const), of: tie('value') }),
    fc.record({ type: fc.constant('array' as const), items: tie('value') }),
    fc.record({
      type: fc.constant('map' as const),
      keys: fc.constantFrom('uuid', 'number', 'word'),
      values: tie('value'),
    }),
    tie('object'),
  ),
  object: fc.record({
    type: fc.constant('object' as const),
    members: fc.uniqueArray(
      fc.record({ name: fc.constantFrom(...names), schema: tie('value'), required: fc.boolean() }),
      { selector: ({ name }) => name, minLength: 1, maxLength: 8 },
    ),
  }),
}))

/** A query parameter that a back end might ask for. */
export interface HiddenParameter {
  readonly name: string
  readonly type: 'integer' | 'boolean' | 'date' | 'text'
  readonly required: boolean
}

/** What a back end might ask of an operation. */
export interface HiddenContract {
  readonly request: HiddenObject
  readonly response: HiddenObject
  readonly parameters: readonly HiddenParameter[]
}

/** Any contract. */
export const hiddenContract: fc.Arbitrary<HiddenContract> = fc.record({
  request: object,
  response: object,
  parameters: fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('limit', 'from', 'active', 'filter[name]', 'sort'),
      type: fc.constantFrom('integer', 'boolean', 'date', 'text'),
      required: fc.boolean(),
    }),
    { selector: ({ name }) => name },
  ),
})

/** Draws numbers from 0 to 1, the same for the same seed. */
export type Draw = () => number

/** Creates a source of numbers (mulberry32). */
export const createDraw = (seed: number): Draw => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const below = (draw: Draw, limit: number): number => Math.floor(draw() * limit)

/** Picks one of several. */
export const pick = <T>(draw: Draw, all: readonly T[]): T => {
  const picked = all[below(draw, all.length)]
  if (picked === undefined) throw new Error('nothing to pick from')
  return picked
}

const word = (draw: Draw): string =>
  Array.from({ length: 3 + below(draw, 8) }, () => String.fromCharCode(97 + below(draw, 26))).join('')

const two = (value: number): string => String(value).padStart(2, '0')

const day = (draw: Draw): string => `${1950 + below(draw, 100)}-${two(1 + below(draw, 12))}-${two(1 + below(draw, 28))}`

const texts: Readonly<Record<TextFormat | 'text', (draw: Draw) => string>> = {
  text: (draw) =>
    Array.from({ length: below(draw, 5) }, () => pick(draw, [word(draw), 'ß', '7', '"', '\u2028'])).join(' '),
  uuid: () => randomUUID(),
  date: day,
  'date-time': (draw) =>
    `${day(draw)}T${two(below(draw, 24))}:00:${two(below(draw, 60))}${pick(draw, ['Z', '.5+02:00'])}`,
  email: (draw) => `${word(draw)}.${word(draw)}@${word(draw)}.example`,
  uri: (draw) => `https://${word(draw)}.example/${word(draw)}?q=%20`,
  digits: (draw) => two(below(draw, 10 ** 6)),
  decimal: (draw) => (draw() * 1000).toFixed(2),
}

const keys = {
  uuid: () => randomUUID(),
  number: (draw: Draw) => String(below(draw, 10 ** 9)),
  word,
}

/** Makes a value that a schema allows. */
export const drawValue = (draw: Draw, schema: HiddenSchema): unknown => {
  switch (schema.type) {
    case 'integer':
      return below(draw, 10 ** below(draw, 8)) - below(draw, 3)
    case 'number':
      return (draw() - 0.2) * 10 ** below(draw, 8)
    case 'boolean':
      return draw() < 0.5
    case 'code':
      return pick(draw, schema.codes)
    case 'nullable':
      return draw() < 0.2 ? null : drawValue(draw, schema.of)
    case 'array':
      return Array.from({ length: below(draw, 4) }, () => drawValue(draw, schema.items))
    case 'map':
      return Object.fromEntries(
        Array.from({ length: below(draw, 4) }, () => [keys[schema.keys](draw), drawValue(draw, schema.values)]),
      )
    case 'object':
      return Object.fromEntries(
        schema.members
          .filter(({ required }) => required || draw() < 0.5)
          .map(({ name, schema: member }) => [name, drawValue(draw, member)]),
      )
    default:
      return texts[schema.type](draw)
  }
}

/** Makes the query of a request. */
export const drawQuery = (draw: Draw, parameters: readonly HiddenParameter[]): ReadonlyMap<string, string> =>
  new Map(
    parameters
      .filter(({ required }) => required || draw() < 0.5)
      .map(({ name, type }) => [name, parameterText(draw, type)]),
  )

const parameterText = (draw: Draw, type: HiddenParameter['type']): string => {
  if (type === 'integer') return String(below(draw, 500))
  if (type === 'boolean') return String(draw() < 0.5)
  return texts[type](draw)
}

/** Lists all ways to break a value at one place: a value of another type, or a required member less. */
export const listMutants = (draw: Draw, schema: HiddenSchema, value: unknown): readonly (() => unknown)[] => {
  const inside = Array.isArray(value) ? mutantsOfItems(draw, schema, value) : mutantsOfMembers(draw, schema, value)
  return [() => ofOtherType(draw, schema), ...inside]
}

const mutantsOfItems = (draw: Draw, schema: HiddenSchema, items: readonly unknown[]): readonly (() => unknown)[] => {
  const whole = schema.type === 'nullable' ? schema.of : schema
  if (whole.type !== 'array') return whole.type === 'nullable' ? mutantsOfItems(draw, whole, items) : []
  return items.flatMap((item, at) =>
    listMutants(draw, whole.items, item).map((mutant) => () => items.with(at, mutant())),
  )
}

const mutantsOfMembers = (draw: Draw, schema: HiddenSchema, value: unknown): readonly (() => unknown)[] => {
  if (schema.type === 'nullable') return mutantsOfMembers(draw, schema.of, value)
  if ((schema.type !== 'object' && schema.type !== 'map') || typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const known = schema.type === 'object' ? schema.members.find((each) => each.name === name) : undefined
    const mutants = listMutants(
      draw,
      known?.schema ?? (schema.type === 'map' ? schema.values : { type: 'text' }),
      member,
    )
    const withMember = (mutant: () => unknown) => () => ({ ...value, [name]: mutant() })
    const without = () => Object.fromEntries(Object.entries(value).filter(([each]) => each !== name))
    return [...mutants.map(withMember), ...(known?.required === true ? [without] : [])]
  })
}

const ofOtherType = (draw: Draw, schema: HiddenSchema): unknown => {
  const allowed = typesOf(schema)
  return pick(
    draw,
    [null, true, 12, 1.5, 'other', [1], { other: 1 }].filter((value) => !allowed.includes(jsonType(value))),
  )
}

const typesOf = (schema: HiddenSchema): readonly string[] => {
  if (schema.type === 'nullable') return ['null', ...typesOf(schema.of)]
  if (schema.type === 'map' || schema.type === 'object') return ['object']
  if (schema.type === 'integer' || schema.type === 'number') return ['number']
  if (schema.type === 'boolean' || schema.type === 'array') return [schema.type]
  return ['string']
}

const jsonType = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)
