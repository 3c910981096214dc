import { type ConfigProblem, type FilePosition, formatKeyPath, type KeyPath, quote } from '../../core/config/problem.ts'
import { suggestNearest } from '../../core/config/suggest.ts'
import { createPositionFinder } from '../../core/config/yaml/yaml-nodes.ts'
import type { JsonMember, JsonNode } from '../contract/compile/json-nodes.ts'

type SampleIssue = Pick<ConfigProblem, 'message' | 'expected' | 'found' | 'hint'>

export interface SampleNode {
  readonly path: KeyPath
  readonly node: JsonNode
  /** The place for messages: the value's name, if it has one. */
  readonly offset: number
}

export class SampleProblems {
  readonly list: ConfigProblem[] = []
  readonly #file: string
  readonly #text: string
  readonly at: (offset: number) => FilePosition

  constructor(file: string, text: string) {
    this.#file = file
    this.#text = text
    this.at = createPositionFinder(text)
  }

  add(path: KeyPath, offset: number, issue: SampleIssue): void {
    this.list.push({ file: this.#file, ...this.at(offset), path: formatKeyPath(path), ...issue })
  }

  addAt({ path, node }: SampleNode, issue: SampleIssue): void {
    this.add(path, node.start, issue)
  }

  textOf({ start, end }: JsonNode): string {
    return this.#text.slice(start, end)
  }

  /** `known`: the only names allowed. Null: the value is no object, which is reported. */
  readMembers(from: SampleNode, known: readonly string[] | null): ReadonlyMap<string, SampleNode> | null {
    const { path, node } = from
    if (node.kind !== 'object') {
      this.addAt(from, wrongKind('an object', node))
      return null
    }
    const members = new Map<string, SampleNode>()
    for (const member of node.members) {
      const { name, nameStart, value } = member
      const memberPath = [...path, name]
      if (known !== null && !known.includes(name)) this.add(memberPath, nameStart, unknownName(member, known))
      else if (members.has(name))
        this.add(memberPath, nameStart, {
          message: 'it stands there twice',
          expected: 'each name once',
          found: quote(name),
        })
      else members.set(name, { path: memberPath, node: value, offset: nameStart })
    }
    return members
  }
}

export const wrongKind = (expected: string, node: JsonNode): SampleIssue => ({
  message: 'the wrong kind of value',
  expected,
  found: describeNode(node),
})

const describeNode = (node: JsonNode): string => {
  if (node.kind !== 'scalar') return node.kind === 'array' ? 'a list' : 'an object'
  return typeof node.value === 'string' ? quote(node.value) : String(node.value).slice(0, 60)
}

const unknownName = ({ name }: JsonMember, known: readonly string[]): SampleIssue => {
  const meant = suggestNearest(name, known)
  const message = meant === undefined ? 'unknown key' : `unknown key; did you mean "${meant}"?`
  return { message, expected: `one of ${known.join(', ')}`, found: quote(name) }
}
