import { isDeepStrictEqual } from 'node:util'
import { Document, isAlias, isMap, isNode, isScalar, type Node, Pair, visit, YAMLMap, YAMLSeq } from 'yaml'
import type { Config, UpstreamConfig } from '../../../core/config/config.ts'
import { configParts } from '../../../core/config/config-part.ts'
import { diffReports } from '../../../core/config/diff/diff-reports.ts'
import type { ConfigChange } from '../../../core/config/diff/diff-values.ts'
import type { Environment } from '../../../core/config/environment.ts'
import type { LoadedConfig } from '../../../core/config/load/load.ts'
import { parseConfig } from '../../../core/config/load/load-config.ts'
import type { ConfigProblem } from '../../../core/config/problem.ts'
import { parseYamlSource } from '../../../core/config/yaml/yaml-document.ts'
import { parseJson } from '../../../core/lib/plain-object.ts'
import { type Group, groups } from '../../../operations.ts'
import { candidateOnlyKeys } from '../config/candidate.ts'

type TextEdit = Readonly<Record<'start' | 'end', number> & Record<'text', string>>

/** With all defaults. */
type RenderedCandidate = Readonly<Record<string, unknown>>

/** The rest of the file stays byte for byte. */
export const promoteCandidate = (text: string, group: Group, rendered: RenderedCandidate): string => {
  const { document } = parseYamlSource(text)
  const groupNode = nodeAt(document, ['upstreams', group])
  const groupMap = isAlias(groupNode) ? writtenOut(document, groupNode) : groupNode
  const candidate = isMap(groupMap) ? groupMap.get('candidate', true) : undefined
  if (!isMap(groupMap) || !isNode(candidate)) throw new TypeError(`${group} has no candidate`)
  const keys = listPromotedKeys(document, groupMap, candidate, rendered)
  const edits =
    groupMap === groupNode && groupMap.flow !== true
      ? editLines(document, text, groupMap, keys, isMap(candidate) && candidate.flow !== true)
      : [replaceValue(document, text, groupNode, keys)]
  const fromEnd = edits.toSorted((a, b) => b.start - a.start)
  return fromEnd.reduce((edited, { start, end, text: own }) => edited.slice(0, start) + own + edited.slice(end), text)
}

/** Follows aliases, except the last node. */
const nodeAt = (document: Document, path: readonly string[]): Node => {
  const node = path.reduce<unknown>((parent, key) => {
    const map = isAlias(parent) ? parent.resolve(document) : parent
    return isMap(map) ? map.get(key, true) : undefined
  }, document.contents)
  if (!isNode(node)) throw new TypeError(`there is no ${path.join('.')}`)
  return node
}

const editLines = (
  document: Document,
  text: string,
  groupMap: YAMLMap,
  keys: readonly PromotedKey[],
  isCandidateBlock: boolean,
) =>
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

const linesOf = (text: string, { key, value }: Pair) => {
  const keyStart = rangeOf(key)[0]
  const start = text.lastIndexOf('\n', keyStart - 1) + 1
  // The parser ends a block value where the next key begins.
  const last = text.slice(0, isNode(value) ? rangeOf(value)[1] : keyStart).trimEnd().length
  const lineFeed = text.indexOf('\n', last)
  return { start, end: lineFeed < 0 ? text.length : lineFeed + 1, margin: text.slice(start, keyStart) }
}

const rangeOf = (node: unknown): readonly [number, number] => {
  if (!isNode(node) || node.range == null) throw new TypeError('each node that was parsed has a range')
  return [node.range[0], node.range[1]]
}

const startOfComments = (text: string, start: number, margin: string): number => {
  const before = text.lastIndexOf('\n', start - 2) + 1
  return start > 0 && text.startsWith(`${margin}#`, before) ? startOfComments(text, before, margin) : start
}

const endOfComments = (text: string, end: number, margin: string): number => {
  const line = /^.*\n?/.exec(text.slice(end))?.[0] ?? ''
  return line.startsWith(`${margin} `) && line.trimStart().startsWith('#')
    ? endOfComments(text, end + line.length, margin)
    : end
}

/** To the left, with the comments above. Null: an alias, whose anchor may be removed. */
const moveLines = (text: string, pair: Pair, margin: string): string | null => {
  if (hasAlias(pair)) return null
  const { start, end, margin: own } = linesOf(text, pair)
  const lines = text.slice(startOfComments(text, start, own), end).split('\n')
  const moved = lines.map((line) => (line.startsWith(own) ? margin + line.slice(own.length) : line)).join('\n')
  return moved.endsWith('\n') ? moved : `${moved}\n`
}

const hasAlias = ({ value }: Pair): boolean => {
  let found = false
  const Alias = () => {
    found = true
    return visit.BREAK
  }
  if (isNode(value)) visit(value, { Alias })
  return found
}

const printLines = (document: Document, text: string, { key, value }: Pair, margin: string): string => {
  const map = new YAMLMap()
  map.items = [document.createPair(isScalar(key) ? key.value : key, null)]
  for (const pair of map.items) {
    const own = writtenOut(document, value)
    // Comments of following lines stay in place.
    pair.value = isMap(own) && own.flow !== true ? Object.assign(own, { comment: null }) : own
  }
  const lines = print(map).replaceAll(/^(?=.)/gm, margin)
  return text.includes('\r\n') ? lines.replaceAll('\n', '\r\n') : lines
}

const replaceValue = (document: Document, text: string, value: Node, keys: readonly PromotedKey[]): TextEdit => {
  const [start, end] = rangeOf(value)
  const map = new YAMLMap()
  map.items = keys.map(({ pair }) => pair)
  const whole = writtenOut(document, map)
  const indent = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', start - 1) + 1))?.[0] ?? ''
  if (parseJson(text) !== undefined) {
    const unit = /^[ \t]+/m.exec(text)?.[0]
    const json = JSON.stringify(whole.toJS(new Document()), null, unit)
    return { start, end, text: json.replaceAll('\n', `\n${indent}`) }
  }
  visit(whole, { Collection: (_, node) => void Object.assign(node, { flow: true }) })
  return { start, end, text: print(whole).trimEnd().replaceAll('\n', `\n${indent}  `) }
}

const print = (contents: Node): string => {
  const part = new Document()
  part.contents = contents
  visit(part, { Seq: (_, node) => void (node.flow === true && Object.assign(node, { toString: printTight })) })
  return part.toString({ lineWidth: 0 })
}

/** The library pads lists as it pads maps: `[ a ]`. */
function printTight(this: YAMLSeq, ...args: Parameters<YAMLSeq['toString']>): string {
  return YAMLSeq.prototype.toString.apply(this, args).replace(/^\[ (.*) \]$/, '[$1]')
}

export type Promotion =
  | { readonly ok: true; readonly text: string; readonly hash: string; readonly changes: readonly ConfigChange[] }
  /** `problems`: of the edited file. Empty: something else would change too. */
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }

export const promotedUpstream = ({ upstreams }: Pick<Config, 'upstreams'>, group: Group) => {
  const primary = upstreams[group]
  // The keys that features add to a group hold for both sides.
  const shared = configParts.flatMap(({ policyKeys = [] }) => policyKeys.map(({ key }) => key as keyof UpstreamConfig))
  const kept = Object.fromEntries(shared.map((key) => [key, primary[key]]))
  return primary.candidate && { ...primary.candidate.upstream, ...kept, candidate: null }
}

/** The edited file, parsed again, must state the promotion and nothing else. */
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

interface PromotedKey {
  readonly name: string
  readonly origin: 'group' | 'candidate' | 'merged'
  readonly pair: Pair
}

// A group's `none` hides `defaults` for these. A candidate's value in its place would inherit them.
const policies = ['healthCheck', 'outlier', 'circuitBreaker']

const listPromotedKeys = (
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

const keyOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key)

/** Without aliases and anchors. */
const writtenOut = (document: Document, node: unknown): Node => {
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
  endpoints.items = [Object.assign(writtenOut(document, target), { comment: null, commentBefore: null })]
  return [new Pair(document.createNode('endpoints'), endpoints)]
}

/** Only maps merge, one level deep. Null: the candidate's value replaces the group's. */
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

/** Fills in the built-in defaults that the policy omits. */
const completed = (document: Document, stated: YAMLMap, rendered: unknown): YAMLMap => {
  const whole = writtenOut(document, stated) as YAMLMap
  for (const [key, value] of Object.entries(Object(rendered)))
    if (!whole.items.some((pair) => keyOf(pair) === key)) whole.items.push(document.createPair(key, value))
  return whole
}
