/** Interfaces that learning does not know, and the traffic that they make. */

import { randomUUID } from 'node:crypto'
import fc from 'fast-check'

/** What a back end might ask of one value. */
export type HiddenSchema =
  | { readonly type: Scalar }
  | { readonly type: 'code'; readonly codes: readonly string[] }
  | { readonly type: 'nullable' | 'array' | 'map'; readonly of: HiddenSchema }
  | { readonly type: 'object'; readonly members: readonly HiddenMember[] }

interface HiddenMember {
  readonly name: string
  readonly schema: HiddenSchema
  readonly required: boolean
}

type HiddenObject = Extract<HiddenSchema, { readonly type: 'object' }>

const names = `id amount currency applicantId createdAt due_date term-months address1 Email items status zip_code
  übersicht @type $ref x score.value limit 30DaysLate assets`.split(/\s+/)
const codes = ['APPROVED', 'DECLINED', 'IN_REVIEW', 'A', 'B', 'pending', 'EUR', 'first-lien']

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

const word = (draw: Draw): string => (10 ** 9 + below(draw, 10 ** 9)).toString(26).replaceAll(/\d/g, 'q')
const two = (value: number): string => String(value).padStart(2, '0')
const day = (draw: Draw): string => `${1950 + below(draw, 100)}-${two(1 + below(draw, 12))}-${two(1 + below(draw, 28))}`

const scalars = {
  integer: (draw: Draw) => below(draw, 10 ** below(draw, 8)) - below(draw, 3),
  number: (draw: Draw) => (draw() - 0.2) * 10 ** below(draw, 8),
  boolean: (draw: Draw) => draw() < 0.5,
  text: (draw: Draw) => Array.from({ length: below(draw, 5) }, () => pick(draw, [word(draw), 'ß', '7', '"'])).join(' '),
  uuid: () => randomUUID() as string,
  date: day,
  'date-time': (draw: Draw) => `${day(draw)}T${two(below(draw, 24))}:00:00${pick(draw, ['Z', '.5+02:00'])}`,
  email: (draw: Draw) => `${word(draw)}.${word(draw)}@${word(draw)}.example`,
  uri: (draw: Draw) => `https://${word(draw)}.example/${word(draw)}?q=%20`,
  digits: (draw: Draw) => two(below(draw, 10 ** 6)),
  decimal: (draw: Draw) => (draw() * 1000).toFixed(2),
}
type Scalar = keyof typeof scalars

const { object } = fc.letrec<{ value: HiddenSchema; object: HiddenObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ type: fc.constantFrom(...(Object.keys(scalars) as Scalar[])) }),
    fc.record({
      type: fc.constant('code' as const),
      codes: fc.uniqueArray(fc.constantFrom(...codes), { minLength: 2 }),
    }),
    fc.record({ type: fc.constantFrom('nullable', 'array', 'map'), of: tie('value') }),
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

/** What a back end might ask of an operation. */
export interface HiddenContract {
  readonly request: HiddenObject
  readonly response: HiddenObject
}

/** Any contract. */
export const hiddenContract: fc.Arbitrary<HiddenContract> = fc.record({ request: object, response: object })

/** Makes a value that a schema allows. */
export const drawValue = (draw: Draw, schema: HiddenSchema): unknown => {
  const several = <T>(make: () => T): T[] => Array.from({ length: below(draw, 4) }, make)
  switch (schema.type) {
    case 'code':
      return pick(draw, schema.codes)
    case 'nullable':
      return draw() < 0.2 ? null : drawValue(draw, schema.of)
    case 'array':
      return several(() => drawValue(draw, schema.of))
    case 'map':
      return Object.fromEntries(several(() => [randomUUID(), drawValue(draw, schema.of)]))
    case 'object': {
      const there = schema.members.filter(({ required }) => required || draw() < 0.5)
      return Object.fromEntries(there.map((member) => [member.name, drawValue(draw, member.schema)]))
    }
    default:
      return scalars[schema.type](draw)
  }
}

/** Lists all ways to break a value at one place: a value of another type, or a required member less. */
export const listMutants = (draw: Draw, schema: HiddenSchema, value: unknown): readonly (() => unknown)[] => {
  const others = [null, true, 12, 'other', [1], { other: 1 }].filter((each) => !allows(schema, each))
  return [() => pick(draw, others), ...mutantsInside(draw, schema, value)]
}

const mutantsInside = (draw: Draw, schema: HiddenSchema, value: unknown): readonly (() => unknown)[] => {
  if (schema.type === 'nullable') return mutantsInside(draw, schema.of, value)
  if (typeof value !== 'object' || value === null) return []
  const copyWith = (name: string, member: unknown) =>
    Array.isArray(value) ? value.with(Number(name), member) : { ...value, [name]: member }
  return Object.entries(value).flatMap(([name, member]) => {
    const known = schema.type === 'object' ? schema.members.find((each) => each.name === name) : undefined
    const of = known?.schema ?? ('of' in schema ? schema.of : { type: 'text' as const })
    const without = () => Object.fromEntries(Object.entries(value).filter(([each]) => each !== name))
    return [
      ...listMutants(draw, of, member).map((mutant) => () => copyWith(name, mutant())),
      ...(known?.required === true ? [without] : []),
    ]
  })
}

/** Whether a schema allows values of the type of this one. */
const allows = (schema: HiddenSchema, value: unknown): boolean => {
  if (schema.type === 'nullable') return value === null || allows(schema.of, value)
  if (schema.type === 'array') return Array.isArray(value)
  if (schema.type === 'map' || schema.type === 'object')
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (schema.type === 'integer' || schema.type === 'number') return typeof value === 'number'
  return typeof value === (schema.type === 'boolean' ? 'boolean' : 'string')
}
