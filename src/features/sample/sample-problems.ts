import { type ConfigProblem, type FilePosition, formatKeyPath, type KeyPath, quote } from '../../core/config/problem.ts'
import { suggestNearest } from '../../core/config/suggest.ts'
import { createPositionFinder } from '../../core/config/yaml/yaml-nodes.ts'
import type { JsonNode } from '../contract/compile/json-nodes.ts'

type SampleIssue = Pick<ConfigProblem, 'message' | 'expected' | 'found' | 'hint'>

export interface SampleNode {
  readonly path: KeyPath
  readonly node: JsonNode
  /** Of the value's name, if it has one. */
  readonly nameStart: number
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

  /** By default at the value itself. */
  add({ path, node }: Pick<SampleNode, 'path' | 'node'>, issue: SampleIssue, offset = node.start): void {
    this.list.push({ file: this.#file, ...this.at(offset), path: formatKeyPath(path), ...issue })
  }

  textOf({ start, end }: JsonNode): string {
    return this.#text.slice(start, end)
  }

  /** `known`: the only names allowed. Null: the value is no object, which is reported. */
  readMembers(from: SampleNode, known: readonly string[] | null): ReadonlyMap<string, SampleNode> | null {
    if (from.node.kind !== 'object') {
      this.add(from, wrongKind('an object', from.node))
      return null
    }
    const members = new Map<string, SampleNode>()
    for (const { name: key, nameStart, value: node } of from.node.entries) {
      const name = `${key}`
      const member = { path: [...from.path, name], node, nameStart }
      const found = quote(name)
      if (known !== null && !known.includes(name)) this.add(member, unknownName(name, known), nameStart)
      else if (members.has(name))
        this.add(member, { message: 'it stands there twice', expected: 'each name once', found }, nameStart)
      else members.set(name, member)
    }
    return members
  }
}

export const stringIn = (node: JsonNode): string | null =>
  node.kind === 'scalar' && typeof node.value === 'string' ? node.value : null

export const wrongKind = (expected: string, node: JsonNode): SampleIssue => ({
  message: 'the wrong kind of value',
  expected,
  found: describeNode(node),
})

const describeNode = (node: JsonNode): string => {
  if (node.kind !== 'scalar') return node.kind === 'array' ? 'a list' : 'an object'
  return typeof node.value === 'string' ? quote(node.value) : String(node.value).slice(0, 60)
}

const unknownName = (name: string, known: readonly string[]): SampleIssue => {
  const meant = suggestNearest(name, known)
  const message = meant === undefined ? 'unknown key' : `unknown key; did you mean "${meant}"?`
  return { message, expected: `one of ${known.join(', ')}`, found: quote(name) }
}
