import { looksLikeCode, looksLikeData } from '../../contract/looks-like-data.ts'
import {
  addCounts,
  addName,
  createNameTable,
  findByName,
  learnedInTable,
  mergeNameTable,
  type NameTable,
  type Sighting,
  tableSize,
} from './name-table.ts'
import { everyFormat, magnitudeOf, narrowFormats } from './value-summaries.ts'

/** Depends on the values and not on their order, so that shapes of several processes can be merged. */
export interface Shape {
  count: number
  nulls: number
  booleans: number
  strings: StringFacts | null
  numbers: NumberFacts | null
  arrays: ArrayFacts | null
  objects: ObjectFacts | null
}

export type StringFacts = ReturnType<typeof createStringFacts>
export type NumberFacts = ReturnType<typeof createNumberFacts>
export type ArrayFacts = ReturnType<typeof createArrayFacts>

export interface ObjectFacts {
  count: number
  members: NameTable<Shape>
  others: Shape | null
  /** `map`: too many names, so all count as data. `forgotten`: past a bound of depth or memory. */
  kind: 'record' | 'map' | 'forgotten'
}

const maxMembers = 64

const maxEnumValues = 12

export interface LearningContext extends Sighting {
  enums: boolean
  readonly listRoots: () => readonly Shape[]
  shapes: number
  values: number
}

export const createShape = (): Shape => ({
  count: 0,
  nulls: 0,
  booleans: 0,
  strings: null,
  numbers: null,
  arrays: null,
  objects: null,
})

/** `formats`: those that all strings fit. `values` null: they are no enumeration. */
const createStringFacts = ({ enums }: { readonly enums: boolean }) => ({
  count: 0,
  lengths: 0,
  formats: everyFormat,
  values: enums ? createNameTable<{ count: number }>() : null,
})

/** `infinite`: too large for a double. `negative`: the magnitudes of the absolute values. */
const createNumberFacts = () => ({ count: 0, fractions: 0, infinite: 0, positive: 0, negative: 0 })

/** `items` null: all arrays were empty, or are `forgotten`: past a bound of depth or memory, for good. */
const createArrayFacts = () => ({ count: 0, lengths: 0, items: null as Shape | null, forgotten: false })

const createObjectFacts = (): ObjectFacts => ({ count: 0, members: createNameTable(), others: null, kind: 'record' })

/** Forgets for good: missed values could contradict what is learned later. */
export const forgetMembers = (facts: ObjectFacts): void => {
  facts.kind = 'forgotten'
  facts.members = createNameTable()
  facts.others = null
}

export const forgetItems = (facts: ArrayFacts): void => {
  facts.forgotten = true
  facts.items = null
}

export const childShapes = ({ arrays, objects }: Shape): readonly Shape[] => {
  const items = arrays === null || arrays.items === null ? [] : [arrays.items]
  return objects === null ? items : [...memberShapes(objects), ...items]
}

const memberShapes = ({ members, others }: ObjectFacts): readonly Shape[] =>
  others === null ? learnedInTable(members) : [...learnedInTable(members), others]

export const measureContext = (context: LearningContext): void => {
  const roots = context.listRoots()
  const { shapes, values } = measureShapes(roots)
  context.shapes = shapes - roots.length
  context.values = values
}

export const measureShapes = (shapes: readonly Shape[]): { readonly shapes: number; readonly values: number } => {
  const size = { shapes: shapes.length, values: 0 }
  for (const shape of shapes) {
    if (shape.strings !== null && shape.strings.values !== null) size.values += tableSize(shape.strings.values)
    const below = measureShapes(childShapes(shape))
    size.shapes += below.shapes
    size.values += below.values
  }
  return size
}

export const mergeShape = (into: Shape, from: Shape): void => {
  addCounts('count', 'nulls', 'booleans')(into, from)
  into.strings = mergeKnown(into.strings, from.strings, () => createStringFacts({ enums: true }), mergeStrings)
  into.numbers = mergeKnown(into.numbers, from.numbers, createNumberFacts, mergeNumbers)
  into.arrays = mergeKnown(into.arrays, from.arrays, createArrayFacts, mergeArrays)
  into.objects = mergeKnown(into.objects, from.objects, createObjectFacts, mergeObjects)
}

const mergeKnown = <T>(into: T | null, from: T | null, create: () => T, merge: (into: T, from: T) => void) => {
  if (from === null) return into
  const merged = into ?? create()
  merge(merged, from)
  return merged
}

export const mergeShapes = (shapes: readonly Shape[]): Shape => {
  const merged = createShape()
  for (const shape of shapes) mergeShape(merged, shape)
  return merged
}

const mergeStrings = (into: StringFacts, from: StringFacts): void => {
  into.count += from.count
  into.lengths |= from.lengths
  into.formats &= from.formats
  if (into.values !== null && from.values !== null)
    mergeNameTable(into.values, from.values, () => ({ count: 0 }), addCounts('count'))
  if (from.values === null || (into.values !== null && tableSize(into.values) > maxEnumValues)) into.values = null
}

const mergeNumbers = (into: NumberFacts, from: NumberFacts): void => {
  into.count += from.count
  into.fractions += from.fractions
  into.infinite += from.infinite
  into.positive |= from.positive
  into.negative |= from.negative
}

const mergeArrays = (into: ArrayFacts, from: ArrayFacts): void => {
  into.count += from.count
  into.lengths |= from.lengths
  if (into.forgotten || from.forgotten) forgetItems(into)
  else into.items = mergeKnown(into.items, from.items, createShape, mergeShape)
}

const mergeObjects = (into: ObjectFacts, from: ObjectFacts): void => {
  into.count += from.count
  if (into.kind === 'forgotten' || from.kind === 'forgotten') return forgetMembers(into)
  mergeNameTable(into.members, from.members, createShape, mergeShape)
  into.others = mergeKnown(into.others, from.others, createShape, mergeShape)
  if (into.kind === 'map' || from.kind === 'map' || tableSize(into.members) > maxMembers) becomeMap(into)
}

const becomeMap = (facts: ObjectFacts): void => {
  const { members, others } = facts
  facts.kind = 'map'
  facts.members = createNameTable()
  const shapes = [...(others === null ? [] : [others]), ...learnedInTable(members)]
  facts.others = shapes.length === 0 ? null : mergeShapes(shapes)
}

/** Objects and arrays below this depth are only counted. */
const maxDepth = 32

const maxShapes = 2048

const maxValues = 256

export const learnValue = (context: LearningContext, shape: Shape, value: unknown, depth = 0): void => {
  shape.count++
  if (typeof value === 'string') {
    shape.strings ??= createStringFacts(context)
    learnString(context, shape.strings, value)
  } else if (typeof value === 'number') {
    shape.numbers ??= createNumberFacts()
    learnNumber(shape.numbers, value)
  } else if (typeof value === 'boolean') shape.booleans++
  else if (value === null) shape.nulls++
  else if (Array.isArray(value)) {
    shape.arrays ??= createArrayFacts()
    learnArray(context, shape.arrays, value, depth)
  } else if (typeof value === 'object') {
    shape.objects ??= createObjectFacts()
    learnObject(context, shape.objects, value as JsonObject, depth)
  }
}

const learnString = (context: LearningContext, facts: StringFacts, text: string): void => {
  facts.count++
  facts.lengths |= magnitudeOf(text.length)
  facts.formats = narrowFormats(facts.formats, text)
  if (facts.values === null || countValue(context, facts.values, text)) return
  context.values -= tableSize(facts.values)
  facts.values = null
}

const countValue = (context: LearningContext, values: NonNullable<StringFacts['values']>, text: string): boolean => {
  // A text that is no code is not even hashed.
  if (!values.named.has(text) && !(context.enums && looksLikeCode(text))) return false
  const known = findByName(values, text, context)
  if (known === undefined && (tableSize(values) >= maxEnumValues || context.values >= maxValues)) return false
  if (known === undefined) context.values++
  const counted = known ?? addName(values, text, { count: 0 }, context)
  counted.count++
  return true
}

const learnNumber = (facts: NumberFacts, value: number): void => {
  facts.count++
  if (!Number.isFinite(value)) facts.infinite++
  else if (!Number.isInteger(value)) facts.fractions++
  if (value < 0) facts.negative |= magnitudeOf(-value)
  else facts.positive |= magnitudeOf(value)
}

const learnArray = (context: LearningContext, facts: ArrayFacts, items: readonly unknown[], depth: number): void => {
  facts.count++
  facts.lengths |= magnitudeOf(items.length)
  if (items.length === 0 || facts.forgotten) return
  if (depth >= maxDepth || (facts.items === null && context.shapes >= maxShapes)) return forgetItems(facts)
  facts.items ??= countedShape(context)
  for (const item of items) learnValue(context, facts.items, item, depth + 1)
}

type JsonObject = Readonly<Record<string, unknown>>

const learnObject = (context: LearningContext, facts: ObjectFacts, value: JsonObject, depth: number): void => {
  facts.count++
  if (depth >= maxDepth) changeKind(context, facts, forgetMembers)
  // JSON.parse makes own members only, also of `__proto__`. Object.entries would take twice the time.
  for (const name in value) {
    const shape = shapeOfMember(context, facts, name)
    if (shape === null) return
    learnValue(context, shape, value[name], depth + 1)
  }
}

const shapeOfMember = (context: LearningContext, facts: ObjectFacts, name: string): Shape | null => {
  if (facts.kind === 'forgotten') return null
  const named = facts.members.named.get(name)
  if (named !== undefined) return named.learned
  // Names that look like data are not even hashed.
  const isData = facts.kind === 'map' || looksLikeData(name)
  const known = isData ? facts.others : findByName(facts.members, name, context)
  if (known != null) return known
  if (context.shapes >= maxShapes) {
    changeKind(context, facts, forgetMembers)
    return null
  }
  if (!isData && tableSize(facts.members) < maxMembers)
    return addName(facts.members, name, countedShape(context), context)
  if (!isData) changeKind(context, facts, becomeMap)
  facts.others ??= countedShape(context)
  return facts.others
}

const changeKind = (context: LearningContext, facts: ObjectFacts, change: (facts: ObjectFacts) => void): void => {
  const before = measureShapes(memberShapes(facts))
  change(facts)
  const after = measureShapes(memberShapes(facts))
  context.shapes += after.shapes - before.shapes
  context.values += after.values - before.values
}

const countedShape = (context: LearningContext): Shape => {
  context.shapes++
  return createShape()
}
