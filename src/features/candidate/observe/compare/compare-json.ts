import { isPlainObject, unescapeSegment } from '../../../../core/lib/plain-object.ts'
import { StepBudget, TooManyStepsError } from '../../../contract/check/step-budget.ts'
import type { DifferenceKind } from '../shadow-kinds.ts'
import {
  type ComparisonRules,
  type Differences,
  type NumberTolerance,
  type Segment,
  TooManyDifferencesError,
} from './comparison.ts'
import { ExactNumber, isSameNumber, numberText } from './exact-number.ts'

export interface JsonRules {
  readonly places: PlaceRules
  readonly numbers: NumberTolerance | null
}

// A step takes about 4 ns; a value takes about 15 steps and at least 2 bytes.
const baseSteps = 200_000
const stepsPerByte = 20
const maxSteps = 20_000_000

const stepsPerRule = 10

// Writing a pointer takes longer than finding the difference.
const stepsPerDifference = 100

/** `bytes`: of both documents. `cut`: too many differences to list. `too-complex`: out of steps. */
export const compareJson = (
  primary: unknown,
  candidate: unknown,
  rules: JsonRules,
  differences: Differences,
  bytes: number,
): 'complete' | 'cut' | 'too-complex' => {
  const walk = createWalk(rules.numbers, differences)
  walk.steps.left = Math.min(maxSteps, baseSteps + stepsPerByte * bytes)
  try {
    walk.compare(primary, candidate, rules.places)
    return 'complete'
  } catch (error) {
    if (error instanceof TooManyDifferencesError) return 'cut'
    if (error instanceof TooManyStepsError) return 'too-complex'
    throw error
  }
}

type JsonObject = Readonly<Record<string, unknown>>

/** Recursive: documents are at most 100 levels deep. */
const createWalk = (numbers: NumberTolerance | null, differences: Differences) => {
  const steps = new StepBudget()
  const path: Segment[] = []

  const add = (kind: DifferenceKind, primary: unknown, candidate: unknown, isSafe = false): void => {
    steps.takeCall(undefined, stepsPerDifference)
    differences.add(kind, differences.toPointer(path), primary, candidate, isSafe)
  }
  const addOneSided = (kind: 'missing' | 'added', value: unknown, { isIgnored, size }: PlaceRules): void => {
    steps.takeCall(undefined, size * stepsPerRule)
    if (isIgnored) return
    const [primary, candidate] = kind === 'missing' ? [jsonType(value), 'nothing'] : ['nothing', jsonType(value)]
    add(kind, primary, candidate, true)
  }

  const compare = (primary: unknown, candidate: unknown, places: PlaceRules): void => {
    if (places.isIgnored) return
    steps.takeCall(primary, places.size * stepsPerRule)
    if (primary === candidate) return
    const [type, other] = [jsonType(primary), jsonType(candidate)]
    if (type !== other) add('type', type, other, true)
    else if (Array.isArray(primary) && Array.isArray(candidate)) compareArrays(primary, candidate, places)
    else if (isObject(primary) && isObject(candidate)) compareMembers(primary, candidate, places)
    else if (isNumber(primary) && isNumber(candidate)) {
      if (!isSameNumber(primary, candidate, numbers, steps)) add('value', numberText(primary), numberText(candidate))
    } else add('value', primary, candidate)
  }
  const compareMembers = (primary: JsonObject, candidate: JsonObject, places: PlaceRules): void => {
    for (const name in primary) {
      const below = places.below(name)
      path.push(name)
      if (Object.hasOwn(candidate, name)) compare(primary[name], candidate[name], below)
      else addOneSided('missing', primary[name], below)
      path.pop()
    }
    for (const name in candidate) {
      steps.takeCall()
      if (Object.hasOwn(primary, name)) continue
      path.push(name)
      addOneSided('added', candidate[name], places.below(name))
      path.pop()
    }
  }
  const compareArrays = (primary: readonly unknown[], candidate: readonly unknown[], places: PlaceRules): void => {
    if (places.keyMember !== null) return compareByKey(primary, candidate, places.keyMember, places)
    if (primary.length !== candidate.length) add('length', primary.length, candidate.length)
    // `length` covers the rest of the longer array.
    const length = Math.min(primary.length, candidate.length)
    path.push(null)
    for (let i = 0; i < length; i++)
      compare(primary[i], candidate[i], places.size === 0 ? places : places.below(String(i)))
    path.pop()
  }

  /** Items with the same key are paired in their order. */
  const compareByKey = (
    primary: readonly unknown[],
    candidate: readonly unknown[],
    member: string,
    places: PlaceRules,
  ): void => {
    // An index has no meaning here: only `*` matches.
    const below = places.below('*')
    const found = groupByKey(candidate, member)
    path.push(null)
    for (const [key, items] of groupByKey(primary, member)) {
      const others = found.get(key) ?? []
      found.delete(key)
      const length = Math.max(items.length, others.length)
      for (let i = 0; i < length; i++) {
        if (i >= others.length) addOneSided('missing', items[i], below)
        else if (i >= items.length) addOneSided('added', others[i], below)
        else compare(items[i], others[i], below)
      }
    }
    for (const items of found.values()) for (const item of items) addOneSided('added', item, below)
    path.pop()
  }
  const groupByKey = (items: readonly unknown[], member: string): Map<string, unknown[]> =>
    Map.groupBy(items, (item) => {
      const key = keyOf(isObject(item) && Object.hasOwn(item, member) ? item[member] : item)
      steps.takeCall(key)
      return key
    })
  return { steps, compare }
}

const isNumber = (value: unknown): value is number | ExactNumber =>
  typeof value === 'number' || value instanceof ExactNumber

const isObject = (value: unknown): value is JsonObject => isPlainObject(value) && !(value instanceof ExactNumber)

const jsonType = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return isNumber(value) ? 'number' : typeof value
}

/** Items without a key are paired in their order. */
const keyOf = (value: unknown): string => {
  if (typeof value === 'string') return `"${value}`
  if (isNumber(value)) return numberText(value)
  return typeof value === 'object' && value !== null ? '' : String(value)
}

interface PlaceRules {
  readonly isIgnored: boolean
  /** Null: items are paired by their order. */
  readonly keyMember: string | null
  /** Rules that may apply below: the cost of a step. */
  readonly size: number
  below(segment: string): PlaceRules
}

interface RuleNode {
  isIgnored: boolean
  keyMember: string | null
  readonly members: Map<string, RuleNode>
}

export const compilePointerRules = ({ ignore, arrays }: Pick<ComparisonRules, 'ignore' | 'arrays'>): PlaceRules => {
  const root = createNode()
  for (const pointer of ignore) findOrAddNode(root, pointer).isIgnored = true
  for (const [pointer, member] of Object.entries(arrays)) findOrAddNode(root, pointer).keyMember = member
  return toPlaceRules([root])
}

const createNode = (): RuleNode => ({ isIgnored: false, keyMember: null, members: new Map() })

const findOrAddNode = (root: RuleNode, pointer: string): RuleNode => {
  let node = root
  for (const segment of pointer.split('/').slice(1)) {
    const name = unescapeSegment(segment)
    const next = node.members.get(name) ?? createNode()
    node.members.set(name, next)
    node = next
  }
  return node
}

const toPlaceRules = (nodes: readonly RuleNode[]): PlaceRules => ({
  isIgnored: nodes.some((node) => node.isIgnored),
  keyMember: nodes.find((node) => node.keyMember !== null)?.keyMember ?? null,
  size: nodes.length,
  below(segment) {
    const next: RuleNode[] = []
    // A name takes precedence over `*`.
    for (const name of segment === '*' ? ['*'] : [segment, '*'])
      for (const { members } of nodes) {
        const node = members.get(name)
        if (node !== undefined) next.push(node)
      }
    return next.length === 0 ? noRules : toPlaceRules(next)
  },
})

const noRules: PlaceRules = { isIgnored: false, keyMember: null, size: 0, below: () => noRules }
