import { unescapeSegment } from '../../../contract/check/json-pointer.ts'
import type { ComparisonRules } from './comparison.ts'

export interface PlaceRules {
  /** Whether what stands here is not compared. */
  readonly isIgnored: boolean
  /** The member by which the items of an array are found. Null: their order counts. */
  readonly keyMember: string | null
  /** How many rules may hold further below: what a step costs. */
  readonly size: number
  below(segment: string): PlaceRules
}

interface RuleNode {
  isIgnored: boolean
  keyMember: string | null
  readonly members: Map<string, RuleNode>
  /** The node of `*`. */
  every: RuleNode | null
}

/** Returns those of the whole document. */
export const compilePointerRules = ({
  ignore,
  unordered,
}: Pick<ComparisonRules, 'ignore' | 'unordered'>): PlaceRules => {
  const root = createNode()
  for (const pointer of ignore) findOrAddNode(root, pointer).isIgnored = true
  for (const [pointer, member] of Object.entries(unordered)) findOrAddNode(root, pointer).keyMember = member
  return toPlaceRules([root])
}

const createNode = (): RuleNode => ({ isIgnored: false, keyMember: null, members: new Map(), every: null })

const findOrAddNode = (root: RuleNode, pointer: string): RuleNode => {
  let node = root
  for (const segment of pointer.split('/').slice(1)) {
    if (segment === '*') {
      node.every ??= createNode()
      node = node.every
      continue
    }
    const name = unescapeSegment(segment)
    const next = node.members.get(name) ?? createNode()
    node.members.set(name, next)
    node = next
  }
  return node
}

const toPlaceRules = (nodes: readonly RuleNode[]): PlaceRules => ({
  isIgnored: nodes.some((node) => node.isIgnored),
  // A name goes before `*`.
  keyMember: nodes.find((node) => node.keyMember !== null)?.keyMember ?? null,
  size: nodes.length,
  below(segment) {
    const next: RuleNode[] = []
    for (const { members } of nodes) {
      const named = members.get(segment)
      if (named !== undefined) next.push(named)
    }
    for (const { every } of nodes) if (every !== null) next.push(every)
    return next.length === 0 ? noRules : toPlaceRules(next)
  },
})

const noRules: PlaceRules = { isIgnored: false, keyMember: null, size: 0, below: () => noRules }
