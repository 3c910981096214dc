import { countedEntries, learnedInTable, mergeNameTable, tableSize } from './name-table.ts'
import {
  type ArrayFacts,
  createArrayFacts,
  createNumberFacts,
  createObjectFacts,
  createShape,
  createStringFacts,
  forgetItems,
  forgetMembers,
  maxEnumValues,
  maxMembers,
  type NumberFacts,
  type ObjectFacts,
  type Shape,
  type StringFacts,
} from './shape.ts'

/** Merges a shape into another, as if that had learnt from the values of both. The one merged stays as it is. */
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

/** Makes a map of objects whose names are data: from now on the names are gone, and all their values have one shape. */
export const becomeMap = (facts: ObjectFacts): void => {
  const { members, others } = facts
  facts.kind = 'map'
  facts.members = createObjectFacts().members
  const shapes = [...(others === null ? [] : [others]), ...learnedInTable(members)]
  facts.others = shapes.length === 0 ? null : mergeShapes(shapes)
}
