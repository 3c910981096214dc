import {
  type Counted,
  countedEntries,
  createNameTable,
  learnedInTable,
  mergeNameTable,
  type NameTable,
  type Sighting,
  tableSize,
} from './name-table.ts'
import type { Magnitudes } from './value-summaries.ts'
import { everyFormat, type StringFormats } from './value-summaries.ts'

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

export interface StringFacts {
  count: number
  lengths: Magnitudes
  /** Formats that all strings fit. */
  formats: StringFormats
  /** Null: the values are no enumeration. */
  values: NameTable<Counted> | null
}

export interface NumberFacts {
  count: number
  fractions: number
  /** Numbers too large for a double. */
  infinite: number
  positive: Magnitudes
  /** Of the absolute values. */
  negative: Magnitudes
}

export interface ArrayFacts {
  count: number
  lengths: Magnitudes
  /** Null: all arrays were empty, or their items are forgotten. */
  items: Shape | null
  /** Past a bound of depth or memory, for good. */
  forgotten: boolean
}

export interface ObjectFacts {
  count: number
  members: NameTable<Shape>
  /** The values of members whose names are data; null: there were none. */
  others: Shape | null
  /** `map`: with too many names, all of them count as data. `forgotten`: past a bound of depth or memory. */
  kind: 'record' | 'map' | 'forgotten'
}

/** Objects with more names are maps: their names are data, and not kept. */
export const maxMembers = 64

export const maxEnumValues = 12

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

export const createStringFacts = ({ enums }: { readonly enums: boolean }): StringFacts => ({
  count: 0,
  lengths: 0,
  formats: everyFormat,
  values: enums ? createNameTable() : null,
})

export const createNumberFacts = (): NumberFacts => ({ count: 0, fractions: 0, infinite: 0, positive: 0, negative: 0 })

export const createArrayFacts = (): ArrayFacts => ({ count: 0, lengths: 0, items: null, forgotten: false })

export const createObjectFacts = (): ObjectFacts => ({
  count: 0,
  members: createNameTable(),
  others: null,
  kind: 'record',
})

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

export const memberShapes = ({ members, others }: ObjectFacts): readonly Shape[] =>
  others === null ? learnedInTable(members) : [...learnedInTable(members), others]

export const measureContext = (context: LearningContext): void => {
  const roots = context.listRoots()
  const { shapes, values } = measureShapes(roots)
  context.shapes = shapes - roots.length
  context.values = values
}

/** Includes all shapes below. */
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
  into.count += from.count
  into.nulls += from.nulls
  into.booleans += from.booleans
  const { strings, numbers, arrays, objects } = from
  if (strings !== null) into.strings = mergeStringFacts(into.strings ?? createStringFacts({ enums: true }), strings)
  if (numbers !== null) into.numbers = mergeNumbers(into.numbers ?? createNumberFacts(), numbers)
  if (arrays !== null) into.arrays = mergeArrays(into.arrays ?? createArrayFacts(), arrays)
  if (objects !== null) into.objects = mergeObjects(into.objects ?? createObjectFacts(), objects)
}

const mergeOptional = (into: Shape | null, from: Shape | null): Shape | null => {
  if (from === null) return into
  const merged = into ?? createShape()
  mergeShape(merged, from)
  return merged
}

export const mergeShapes = (shapes: readonly Shape[]): Shape => {
  const merged = createShape()
  for (const shape of shapes) mergeShape(merged, shape)
  return merged
}

const mergeStringFacts = (into: StringFacts, from: StringFacts): StringFacts => {
  into.count += from.count
  into.lengths |= from.lengths
  into.formats &= from.formats
  if (into.values !== null && from.values !== null) mergeNameTable(into.values, from.values, countedEntries)
  if (from.values === null || (into.values !== null && tableSize(into.values) > maxEnumValues)) into.values = null
  return into
}

const mergeNumbers = (into: NumberFacts, from: NumberFacts): NumberFacts => {
  into.count += from.count
  into.fractions += from.fractions
  into.infinite += from.infinite
  into.positive |= from.positive
  into.negative |= from.negative
  return into
}

const mergeArrays = (into: ArrayFacts, from: ArrayFacts): ArrayFacts => {
  into.count += from.count
  into.lengths |= from.lengths
  if (into.forgotten || from.forgotten) forgetItems(into)
  else into.items = mergeOptional(into.items, from.items)
  return into
}

const mergeObjects = (into: ObjectFacts, from: ObjectFacts): ObjectFacts => {
  into.count += from.count
  if (into.kind === 'forgotten' || from.kind === 'forgotten') {
    forgetMembers(into)
    return into
  }
  mergeNameTable(into.members, from.members, { create: createShape, merge: mergeShape })
  into.others = mergeOptional(into.others, from.others)
  if (into.kind === 'map' || from.kind === 'map' || tableSize(into.members) > maxMembers) becomeMap(into)
  return into
}

export const becomeMap = (facts: ObjectFacts): void => {
  const { members, others } = facts
  facts.kind = 'map'
  facts.members = createObjectFacts().members
  const shapes = [...(others === null ? [] : [others]), ...learnedInTable(members)]
  facts.others = shapes.length === 0 ? null : mergeShapes(shapes)
}
