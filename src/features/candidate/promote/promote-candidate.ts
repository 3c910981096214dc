import { isDeepStrictEqual } from 'node:util'
import { Document, isAlias, isMap, isNode, isScalar, type Node, type Pair, visit, YAMLMap, YAMLSeq } from 'yaml'
import type { Config } from '../../../core/config/config.ts'
import { diffReports } from '../../../core/config/diff/diff-reports.ts'
import type { ConfigChange } from '../../../core/config/diff/diff-values.ts'
import type { Environment } from '../../../core/config/environment.ts'
import type { LoadedConfig } from '../../../core/config/load/load.ts'
import { parseConfig } from '../../../core/config/load/load-config.ts'
import type { ConfigProblem } from '../../../core/config/problem.ts'
import { parseYamlSource } from '../../../core/config/yaml/yaml-document.ts'
import { parseJson } from '../../../core/lib/plain-object.ts'
import { type Group, groups } from '../../../operations.ts'
import { keyOf, listPromotedKeys, type PromotedKey, type RenderedCandidate, writtenOut } from './promoted-keys.ts'

interface TextEdit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * Edits the text of a configuration file so that the candidate of a group is its upstream. What is not about that stays
 * as it is, byte for byte. The text is a valid configuration in which the group has a candidate.
 */
export const promoteCandidate = (text: string, group: Group, rendered: RenderedCandidate): string => {
  const { document } = parseYamlSource(text)
  const groupNode = nodeAt(document, ['upstreams', group])
  const groupMap = isAlias(groupNode) ? writtenOut(document, groupNode) : groupNode
  const candidate = isMap(groupMap) ? groupMap.get('candidate', true) : undefined
  if (!isMap(groupMap) || !isNode(candidate)) throw new TypeError(`${group} has no candidate`)
  const keys = listPromotedKeys(document, groupMap, candidate, rendered)
  const isBlock = groupMap === groupNode && groupMap.flow !== true
  const edits = isBlock
    ? editLines(document, text, groupMap, keys, isMap(candidate) && candidate.flow !== true)
    : [replaceValue(document, text, groupNode, keys)]
  const fromEnd = edits.toSorted((a, b) => b.start - a.start)
  return fromEnd.reduce((edited, { start, end, text: own }) => edited.slice(0, start) + own + edited.slice(end), text)
}

/** Follows the keys of maps, through aliases. The node at the end may be an alias. */
const nodeAt = (document: Document, path: readonly string[]): Node => {
  const node = path.reduce<unknown>((parent, key) => {
    const map = isAlias(parent) ? parent.resolve(document) : parent
    return isMap(map) ? map.get(key, true) : undefined
  }, document.contents)
  if (!isNode(node)) throw new TypeError(`there is no ${path.join('.')}`)
  return node
}

/** Edits a group that is written over lines: whole lines of it come, change or go. */
const editLines = (
  document: Document,
  text: string,
  groupMap: YAMLMap,
  keys: readonly PromotedKey[],
  isCandidateBlock: boolean,
): readonly TextEdit[] =>
  groupMap.items.flatMap((pair): readonly TextEdit[] => {
    const { start, end, margin } = linesOf(text, pair)
    const write = ({ pair, origin }: PromotedKey): string =>
      (isCandidateBlock && origin === 'candidate' ? moveLines(text, pair, margin) : null) ??
      printLines(document, text, pair, margin)
    if (keyOf(pair) !== 'candidate') {
      const key = keys.find(({ name }) => name === keyOf(pair))
      return key === undefined || key.origin === 'group' ? [] : [{ start, end, text: write(key) }]
    }
    const added = keys.filter(({ name }) => groupMap.items.every((each) => keyOf(each) !== name))
    const whole = { start: startOfComments(text, start, margin), end: endOfComments(text, end, margin) }
    return [{ ...whole, text: added.map(write).join('') }]
  })

/** Finds the lines of a key and its value, the line feed at the end included, and what they begin with. */
const linesOf = (text: string, { key, value }: Pair) => {
  const keyStart = rangeOf(key)[0]
  const start = text.lastIndexOf('\n', keyStart - 1) + 1
  // A block ends where the next key begins.
  const last = text.slice(0, isNode(value) ? rangeOf(value)[1] : keyStart).trimEnd().length
  const lineFeed = text.indexOf('\n', last)
  return { start, end: lineFeed < 0 ? text.length : lineFeed + 1, margin: text.slice(start, keyStart) }
}

const rangeOf = (node: unknown): readonly [number, number] => {
  if (!isNode(node) || node.range == null) throw new TypeError('each node that was parsed has a range')
  return [node.range[0], node.range[1]]
}

/** Finds where the comments begin that stand right above a line, and as deep. */
const startOfComments = (text: string, start: number, margin: string): number => {
  const before = text.lastIndexOf('\n', start - 2) + 1
  return start > 0 && text.startsWith(`${margin}#`, before) ? startOfComments(text, before, margin) : start
}

/** Finds where the comments end that stand right below a key, and deeper. */
const endOfComments = (text: string, end: number, margin: string): number => {
  const line = /^.*\n?/.exec(text.slice(end))?.[0] ?? ''
  return line.startsWith(`${margin} `) && line.trimStart().startsWith('#')
    ? endOfComments(text, end + line.length, margin)
    : end
}

/** Moves the lines of a key to the left, with the comments above. Null: it has an alias, whose anchor may go. */
const moveLines = (text: string, pair: Pair, margin: string): string | null => {
  const { start, end, margin: own } = linesOf(text, pair)
  if (hasAlias(pair)) return null
  const moved = text
    .slice(startOfComments(text, start, own), end)
    .split('\n')
    .map((line) => (line.startsWith(own) ? margin + line.slice(own.length) : line))
    .join('\n')
  return moved.endsWith('\n') ? moved : `${moved}\n`
}

const hasAlias = ({ value }: Pair): boolean => {
  let found = isAlias(value)
  if (isNode(value)) {
    visit(value, {
      Alias: () => {
        found = true
        return visit.BREAK
      },
    })
  }
  return found
}

const printLines = (document: Document, text: string, { key, value }: Pair, margin: string): string => {
  const map = new YAMLMap()
  map.items = [document.createPair(isScalar(key) ? key.value : key, null)]
  for (const pair of map.items) pair.value = withoutLater(writtenOut(document, value))
  const lines = print(map).replaceAll(/^(?=.)/gm, margin)
  return text.includes('\r\n') ? lines.replaceAll('\n', '\r\n') : lines
}

/** Removes the comments of lines that follow: they stay where they are. */
const withoutLater = (value: Node): Node =>
  isMap(value) && value.flow !== true ? Object.assign(value, { comment: null }) : value

/** Replaces the whole value of a group that stands within braces, or is an alias. */
const replaceValue = (document: Document, text: string, value: Node, keys: readonly PromotedKey[]): TextEdit => {
  const [start, end] = rangeOf(value)
  const map = new YAMLMap()
  map.items = keys.map(({ pair }) => pair)
  const whole = writtenOut(document, map)
  const indent = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', start - 1) + 1))?.[0] ?? ''
  if (isJson(text)) {
    const unit = /^[ \t]+/m.exec(text)?.[0]
    const json = JSON.stringify(whole.toJS(new Document()), null, unit)
    return { start, end, text: json.replaceAll('\n', `\n${indent}`) }
  }
  visit(whole, { Collection: (_, node) => void Object.assign(node, { flow: true }) })
  return { start, end, text: print(whole).trimEnd().replaceAll('\n', `\n${indent}  `) }
}

const isJson = (text: string): boolean => parseJson(text) !== undefined

const print = (contents: Node): string => {
  const part = new Document()
  part.contents = contents
  visit(part, { Seq: (_, node) => void (node.flow === true && Object.assign(node, { toString: printTight })) })
  return part.toString({ lineWidth: 0 })
}

/** Prints a list without blanks inside its brackets, as most write it. The library cannot do so for lists alone. */
function printTight(this: YAMLSeq, ...args: Parameters<YAMLSeq['toString']>): string {
  return YAMLSeq.prototype.toString.apply(this, args).replace(/^\[ (.*) \]$/, '[$1]')
}

export type Promotion =
  | {
      readonly ok: true
      readonly text: string
      readonly hash: string
      readonly changes: readonly ConfigChange[]
    }
  /** `problems`: those of the edited file. None: it would change something else too. */
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

export const promotedUpstream = ({ upstreams }: Pick<Config, 'upstreams'>, group: Group) => {
  const { candidate, retry, concurrency } = upstreams[group]
  // One of each for both sides: a candidate has none of its own.
  return candidate && { ...candidate.upstream, retry, concurrency, candidate: null }
}

/**
 * Edits the text of a file so that the candidate of a group is its upstream, and verifies the edit: read anew, the file
 * has to say that and nothing else. `loaded` is what it says now.
 */
export const planPromotion = (
  text: string,
  file: string,
  group: Group,
  loaded: LoadedConfig,
  environment: Environment = process.env,
): Promotion => {
  const rendered = Object(Object(loaded.report.config.upstreams)[group]).candidate
  const edited = promoteCandidate(text, group, rendered)
  const next = parseConfig(Buffer.from(edited), file, environment)
  if (!next.ok) return { ok: false, problems: next.problems }
  const expected = { ...loaded.config.upstreams, [group]: promotedUpstream(loaded.config, group) }
  const isExact = groups.every((each) => isDeepStrictEqual(next.config.upstreams[each], expected[each]))
  const changes = diffReports(loaded.report, next.report)
  if (!isExact || changes.some(({ part }) => part !== `upstreams.${group}`)) return { ok: false, problems: [] }
  return { ok: true, text: edited, hash: next.config.hash, changes }
}
