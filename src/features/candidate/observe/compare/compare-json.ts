import { isPlainObject, unescapeSegment } from '../../../../core/lib/plain-object.ts'
import { StepBudget, TooManyStepsError } from '../../../contract/check/step-budget.ts'
import {
  type ComparisonRules,
  type DifferenceKind,
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

// For each rule that may apply at a place.
const stepsPerRule = 10

// Writing a pointer takes longer than finding the difference.
const stepsPerDifference = 100

/**
 * `bytes`: the length of both, which raises the step limit, to some tenths of a second at most. Returns `cut`: too many
 * differences to list; `too-complex`: out of steps.
 */
export const compareJson = (
  primary: unknown,
  candidate: unknown,
  rules: JsonRules,
  differences: Differences,
  bytes: number,
): 'complete' | 'cut' | 'too-complex' => {
  const walk = new DocumentWalk(rules.numbers, differences)
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
class DocumentWalk {
  readonly steps = new StepBudget()
  readonly #numbers: NumberTolerance | null
  readonly #differences: Differences
  readonly #path: Segment[] = []

  constructor(numbers: NumberTolerance | null, differences: Differences) {
    this.#numbers = numbers
    this.#differences = differences
  }

  compare(primary: unknown, candidate: unknown, places: PlaceRules): void {
    if (places.isIgnored) return
    this.steps.takeCall(primary, places.size * stepsPerRule)
    if (primary === candidate) return
    const [type, other] = [jsonType(primary), jsonType(candidate)]
    if (type !== other) this.#add('type', type, other, true)
    else if (Array.isArray(primary) && Array.isArray(candidate)) this.#compareArrays(primary, candidate, places)
    else if (isObject(primary) && isObject(candidate)) this.#compareMembers(primary, candidate, places)
    else if (isNumber(primary) && isNumber(candidate)) {
      if (!isSameNumber(primary, candidate, this.#numbers, this.steps))
        this.#add('value', numberText(primary), numberText(candidate))
    } else this.#add('value', primary, candidate)
  }

  #compareMembers(primary: JsonObject, candidate: JsonObject, places: PlaceRules): void {
    for (const name in primary) {
      const below = places.below(name)
      this.#path.push(name)
      if (Object.hasOwn(candidate, name)) this.compare(primary[name], candidate[name], below)
      else this.#addOneSided('missing', primary[name], below)
      this.#path.pop()
    }
    for (const name in candidate) {
      this.steps.takeCall()
      if (Object.hasOwn(primary, name)) continue
      this.#path.push(name)
      this.#addOneSided('added', candidate[name], places.below(name))
      this.#path.pop()
    }
  }

  #compareArrays(primary: readonly unknown[], candidate: readonly unknown[], places: PlaceRules): void {
    if (places.keyMember !== null) return this.#compareByKey(primary, candidate, places.keyMember, places)
    if (primary.length !== candidate.length) this.#add('length', primary.length, candidate.length)
    // `length` covers the rest of the longer array.
    const length = Math.min(primary.length, candidate.length)
    this.#path.push(null)
    for (let i = 0; i < length; i++)
      this.compare(primary[i], candidate[i], places.size === 0 ? places : places.below(String(i)))
    this.#path.pop()
  }

  /** Pairs items by key in any order; items with one key in their order. */
  #compareByKey(primary: readonly unknown[], candidate: readonly unknown[], member: string, places: PlaceRules): void {
    // An index has no meaning here: only `*` matches.
    const below = places.below('*')
    const found = this.#groupByKey(candidate, member)
    this.#path.push(null)
    for (const [key, items] of this.#groupByKey(primary, member)) {
      const others = found.get(key) ?? []
      found.delete(key)
      const length = Math.max(items.length, others.length)
      for (let i = 0; i < length; i++) {
        if (i >= others.length) this.#addOneSided('missing', items[i], below)
        else if (i >= items.length) this.#addOneSided('added', others[i], below)
        else this.compare(items[i], others[i], below)
      }
    }
    for (const items of found.values()) for (const item of items) this.#addOneSided('added', item, below)
    this.#path.pop()
  }

  #groupByKey(items: readonly unknown[], member: string): Map<string, unknown[]> {
    return Map.groupBy(items, (item) => {
      const key = keyOf(isObject(item) && Object.hasOwn(item, member) ? item[member] : item)
      this.steps.takeCall(key)
      return key
    })
  }

  #addOneSided(kind: 'missing' | 'added', value: unknown, { isIgnored, size }: PlaceRules): void {
    this.steps.takeCall(undefined, size * stepsPerRule)
    if (isIgnored) return
    const [primary, candidate] = kind === 'missing' ? [jsonType(value), 'nothing'] : ['nothing', jsonType(value)]
    this.#add(kind, primary, candidate, true)
  }

  #add(kind: DifferenceKind, primary: unknown, candidate: unknown, isSafe = false): void {
    this.steps.takeCall(undefined, stepsPerDifference)
    this.#differences.add(kind, this.#differences.toPointer(this.#path), primary, candidate, isSafe)
  }
}

const isNumber = (value: unknown): value is number | ExactNumber =>
  typeof value === 'number' || value instanceof ExactNumber

const isObject = (value: unknown): value is JsonObject => isPlainObject(value) && !(value instanceof ExactNumber)

const jsonType = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return isNumber(value) ? 'number' : typeof value
}

/** Values other than objects are their own key; items without a key are paired in their order. */
const keyOf = (value: unknown): string => {
  if (typeof value === 'string') return `"${value}`
  if (isNumber(value)) return numberText(value)
  return typeof value === 'object' && value !== null ? '' : String(value)
}

interface PlaceRules {
  readonly isIgnored: boolean
  /** Items are found by this member. Null: by their order. */
  readonly keyMember: string | null
  /** Rules that may apply below: the cost of a step. */
  readonly size: number
  below(segment: string): PlaceRules
}

interface RuleNode {
  isIgnored: boolean
  keyMember: string | null
  /** By name. `*` matches every name and index. */
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
