import { looksLikeCode, looksLikeData } from '../../contract/looks-like-data.ts'
import { addName, findByName, tableSize } from './name-table.ts'
import {
  type ArrayFacts,
  becomeMap,
  createArrayFacts,
  createNumberFacts,
  createObjectFacts,
  createShape,
  createStringFacts,
  forgetItems,
  forgetMembers,
  type LearningContext,
  maxEnumValues,
  maxMembers,
  measureShapes,
  memberShapes,
  type NumberFacts,
  type ObjectFacts,
  type Shape,
  type StringFacts,
} from './shape.ts'
import { magnitudeOf, narrowFormats } from './value-summaries.ts'

/** Objects and arrays below this depth are only counted. */
const maxDepth = 32

/** Of one direction of an operation, without its roots. */
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
