import { describeMagnitudes } from './magnitudes.ts'
import { mergeShapes } from './merge-shape.ts'
import { learnedInTable, type NameTable } from './name-table.ts'
import type { ArrayFacts, NumberFacts, ObjectFacts, Shape, StringFacts } from './shape.ts'
import { formatKeyword } from './string-formats.ts'

/** A part of a draft: plain JSON. */
export type DraftPart = Readonly<Record<string, unknown>>

/** How often a thing has to be seen before the draft says that it is always so. */
export const enoughSightings = 10

/** How many strings make an enumeration. */
const enoughForEnum = 50

/** The least share of the objects, or requests, that have a name which the draft tells. */
const leastShare = 0.01

/** Formats how often a thing was seen, of how many times that it could have been. */
export const seen = (count: number, of: number): DraftPart => ({ 'x-seen': `${count} of ${of}` })

/** Says what the draft leaves open; nothing for no gap. */
export const gaps = (texts: readonly (string | false)[]): DraftPart => {
  const said = texts.filter((text) => text !== false)
  return said.length === 0 ? {} : { 'x-gap': said.join('; ') }
}

/** Sorts what was learnt by name, and parts the names that the draft tells from those seen too rarely. */
export const splitByShare = <T extends { readonly count: number }>(table: NameTable<T>, of: number) => {
  const told = [...table.named]
    .map(([name, { learned }]) => ({ name, learned }))
    .filter(({ learned }) => learned.count >= of * leastShare)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const names = new Set(told.map(({ learned }) => learned))
  return { told, rare: learnedInTable(table).filter((learned) => !names.has(learned)) }
}

/**
 * Writes the JSON Schema of a shape. It accepts every value from which the shape was learnt. Orders of magnitude stand
 * beside it as extensions, and bind nothing: a larger number than any of the last hour is ordinary, and no breach.
 * Members that it does not name are allowed.
 */
export const draftSchema = (shape: Shape): DraftPart => {
  const { count, nulls, booleans, strings, numbers, arrays, objects } = shape
  // No schema's number is beyond a double.
  if (numbers !== null && numbers.infinite > 0) return gaps(['numbers beyond the range of a double'])
  const parts = [
    { seenTimes: strings?.count, schema: strings && stringSchema(strings) },
    { seenTimes: numbers?.count, schema: numbers && numberSchema(numbers) },
    { seenTimes: booleans, schema: booleans > 0 ? { type: 'boolean' } : null },
    { seenTimes: arrays?.count, schema: arrays && arraySchema(arrays) },
    { seenTimes: objects?.count, schema: objects && objectSchema(objects) },
  ].flatMap(({ seenTimes = 0, schema }) => (schema === null ? [] : [{ seenTimes, schema }]))

  const [only, ...more] = parts
  if (only === undefined) return nulls > 0 ? { type: 'null' } : gaps(['no value seen'])
  if (more.length === 0) return nulls > 0 ? nullable(only.schema, nulls, count) : only.schema
  const withNull = nulls > 0 ? [...parts, { seenTimes: nulls, schema: { type: 'null' } }] : parts
  return { anyOf: withNull.map(({ seenTimes, schema }) => ({ ...schema, ...seen(seenTimes, count) })) }
}

const nullable = (schema: DraftPart, nulls: number, count: number): DraftPart => ({
  ...schema,
  type: [schema.type, 'null'],
  ...(Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {}),
  'x-null': `${nulls} of ${count}`,
})

/** Writes the schema of strings: an enumeration, or the narrowest format that all of them fit. */
const stringSchema = (facts: StringFacts): DraftPart => {
  const format = facts.count >= enoughSightings ? formatKeyword(facts.formats) : null
  return {
    type: 'string',
    ...(enumKeyword(facts) ?? format),
    'x-length': describeMagnitudes(facts.lengths, 0),
  }
}

// One value alone is a constant, of which an enumeration would say too much; and each has to be known.
const enumKeyword = ({ count, values }: StringFacts): DraftPart | null =>
  count >= enoughForEnum && values !== null && values.unnamed.size === 0 && values.named.size > 1
    ? { enum: [...values.named.keys()].sort() }
    : null

const numberSchema = ({ count, fractions, positive, negative }: NumberFacts): DraftPart => ({
  type: fractions === 0 && count >= enoughSightings ? 'integer' : 'number',
  'x-range': describeMagnitudes(positive, negative),
})

const arraySchema = ({ lengths, items, forgotten }: ArrayFacts): DraftPart => ({
  type: 'array',
  ...(items === null ? {} : { items: draftSchema(items) }),
  'x-items': describeMagnitudes(lengths, 0),
  ...gaps([forgotten && 'items beyond the bounds of learning']),
})

const objectSchema = ({ count, members, others, kind }: ObjectFacts): DraftPart => {
  const { told, rare } = splitByShare(members, count)
  const properties = told.map(({ name, learned }) => [name, { ...draftSchema(learned), ...seen(learned.count, count) }])
  const required = told.filter(({ learned }) => count >= enoughSightings && learned.count === count)
  const hasRule = others !== null && others.count >= enoughSightings
  return {
    type: 'object',
    ...(told.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
    // The names seen too rarely fall under the same rule, so it is learnt from their values too.
    ...(hasRule && { additionalProperties: draftSchema(mergeShapes([others, ...rare])) }),
    ...gaps([
      kind === 'forgotten' && 'members beyond the bounds of learning',
      rare.length > 0 && `names seen too rarely to be told: ${rare.length}`,
      others !== null && !hasRule && 'names that look like data, seen too rarely for a rule',
    ]),
  }
}
