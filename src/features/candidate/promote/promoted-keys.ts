import { type Document, isAlias, isMap, isNode, isScalar, type Node, Pair, type YAMLMap, YAMLSeq } from 'yaml'
import { candidateOnlyKeys } from '../config/candidate.ts'

/** Where a key of the promoted group comes from. A merged one has keys of both. */
type KeyOrigin = 'group' | 'candidate' | 'merged'

export interface PromotedKey {
  readonly name: string
  readonly origin: KeyOrigin
  readonly pair: Pair
}

/** The values of a candidate, in the spelling of the file, with every default filled in. */
export type RenderedCandidate = Readonly<Record<string, unknown>>

// `none` of a group hides what `defaults` say of these. Without it their keys would be inherited.
const policies = ['healthCheck', 'outlier', 'circuitBreaker']

/**
 * Lists the keys that make the candidate of a group its upstream: those that the candidate states take the place of the
 * group's, as they do while it is a candidate. The keys that the group has too come first, in their order.
 */
export const listPromotedKeys = (
  document: Document,
  group: YAMLMap,
  candidate: Node,
  rendered: RenderedCandidate,
): readonly PromotedKey[] => {
  const stated = candidatePairs(document, candidate)
  const own = group.items.flatMap((pair): readonly PromotedKey[] => {
    const name = keyOf(pair)
    if (name === 'candidate') return []
    const replacement = stated.find((each) => keyOf(each) === name)
    const isSame = isAlias(replacement?.value) && replacement.value.resolve(document) === pair.value
    if (replacement === undefined || isSame) return [{ name, origin: 'group', pair }]
    const value = mergeValues(document, pair.value, replacement.value, rendered[name], name)
    return value === null
      ? [{ name, origin: 'candidate', pair: replacement }]
      : [{ name, origin: 'merged', pair: new Pair(pair.key, value) }]
  })
  const added = stated.filter((pair) => own.every(({ name }) => name !== keyOf(pair)))
  return [...own, ...added.map((pair) => ({ name: keyOf(pair), origin: 'candidate' as const, pair }))]
}

export const keyOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key)

/** Copies a node without anchors and aliases: its values stand in their place. */
export const writtenOut = (document: Document, node: unknown): Node => {
  const target = isAlias(node) ? node.resolve(document) : node
  if (!isNode(target)) throw new TypeError('only nodes are written out')
  const copy = target.clone() as Node
  if ('anchor' in copy) delete copy.anchor
  if (isMap(copy)) for (const pair of copy.items) if (isNode(pair.value)) pair.value = writtenOut(document, pair.value)
  if (copy instanceof YAMLSeq) copy.items = copy.items.map((item) => writtenOut(document, item))
  return copy
}

const candidatePairs = (document: Document, candidate: Node): readonly Pair[] => {
  const target = isAlias(candidate) ? writtenOut(document, candidate) : candidate
  if (isMap(target)) return target.items.filter((pair) => !candidateOnlyKeys.includes(keyOf(pair)))
  const endpoints = new YAMLSeq()
  endpoints.flow = true
  endpoints.items = [withoutComments(writtenOut(document, target))]
  return [new Pair(document.createNode('endpoints'), endpoints)]
}

const withoutComments = (node: Node): Node => Object.assign(node, { comment: null, commentBefore: null })

/** Merges the values of one key: only maps merge, and one level of them. Null: the candidate's replaces the group's. */
const mergeValues = (
  document: Document,
  groupValue: unknown,
  candidateValue: unknown,
  rendered: unknown,
  name: string,
): YAMLMap | null => {
  const stated = isAlias(candidateValue) ? candidateValue.resolve(document) : candidateValue
  const inherited = isAlias(groupValue) ? groupValue.resolve(document) : groupValue
  if (!isMap(stated)) return null
  if (!isMap(inherited)) return policies.includes(name) ? completed(document, stated, rendered) : null
  const merged = writtenOut(document, inherited)
  if (!isMap(merged)) return null
  for (const pair of (writtenOut(document, stated) as YAMLMap).items) {
    const index = merged.items.findIndex((each) => keyOf(each) === keyOf(pair))
    merged.items.splice(index < 0 ? merged.items.length : index, 1, pair)
  }
  return merged
}

/** Adds the keys that a policy leaves to the built-in values. */
const completed = (document: Document, stated: YAMLMap, rendered: unknown): YAMLMap => {
  const whole = writtenOut(document, stated) as YAMLMap
  for (const [key, value] of Object.entries(Object(rendered)))
    if (!whole.items.some((pair) => keyOf(pair) === key)) whole.items.push(document.createPair(key, value))
  return whole
}
