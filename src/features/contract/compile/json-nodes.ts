import { type ConfigProblem, fileProblem, quote } from '../../../core/config/problem.ts'
import { createPositionFinder } from '../../../core/config/yaml/yaml-nodes.ts'
import { parseJson } from '../../../core/lib/plain-object.ts'

export type JsonNode = { readonly start: number; readonly end: number } & (
  | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'scalar'; readonly value: string | number | boolean | null }
)

/** A name may stand in an object twice. */
export interface JsonMember {
  readonly name: string
  readonly nameStart: number
  readonly value: JsonNode
}

export interface JsonSyntaxFault {
  readonly offset: number
  readonly expected: string
}

const space = /[ \t\n\r]*/y
const word = /[-+.\w]+/y
const value = 'a value: an object, a list, a text in double quotes, a number, true, false or null'

/**
 * RFC 8259. JSON.parse tells neither the place of a value nor, for some faults, where the text breaks off. `remedy` is
 * appended to the message about values deeper than `maxDepth`.
 */
export const parseJsonNodes = (text: string, maxDepth = 200, remedy = ''): JsonNode | JsonSyntaxFault => {
  let at = 0
  let fault: JsonSyntaxFault | null = null

  const fail = (expected: string, offset = at): null => {
    fault ??= { offset, expected }
    return null
  }
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const [found = ''] = pattern.exec(text) ?? []
    at += found.length
    return found
  }
  const skip = (character: string): boolean => {
    take(space)
    if (text[at] !== character) return false
    at++
    return true
  }

  const readValue = (depth: number): JsonNode | null => {
    take(space)
    const start = at
    if (depth > maxDepth) return fail(`at most ${maxDepth} levels${remedy}`)
    if (skip('{')) return readObject(start, depth)
    if (skip('[')) return readArray(start, depth)
    if (text[at] === '"') {
      const read = readText()
      return read === null ? null : { kind: 'scalar', start, end: at, value: read }
    }
    const read = parseJson(take(word)) as string | number | boolean | null | undefined
    return read === undefined ? fail(value, start) : { kind: 'scalar', start, end: at, value: read }
  }

  const readText = (): string | null => {
    const start = at
    for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++
    at++
    const read = parseJson(text.slice(start, at))
    if (typeof read === 'string') return read
    return fail('a text between double quotes on one line, with \\" and \\\\ for quotes and backslashes in it', start)
  }

  const readObject = (start: number, depth: number): JsonNode | null => {
    const members: JsonMember[] = []
    if (skip('}')) return { kind: 'object', start, end: at, members }
    for (;;) {
      take(space)
      const nameStart = at
      if (text[at] !== '"')
        return fail(members.length === 0 ? 'a name in double quotes, or }' : 'a name in double quotes')
      const name = readText()
      if (name === null) return null
      if (!skip(':')) return fail('a colon')
      const read = readValue(depth + 1)
      if (read === null) return null
      members.push({ name, nameStart, value: read })
      if (skip('}')) return { kind: 'object', start, end: at, members }
      if (!skip(',')) return fail('a comma, or }')
    }
  }

  const readArray = (start: number, depth: number): JsonNode | null => {
    const items: JsonNode[] = []
    if (skip(']')) return { kind: 'array', start, end: at, items }
    for (;;) {
      const read = readValue(depth + 1)
      if (read === null) return null
      items.push(read)
      if (skip(']')) return { kind: 'array', start, end: at, items }
      if (!skip(',')) return fail('a comma, or ]')
    }
  }

  const root = readValue(0)
  take(space)
  if (root !== null && at < text.length) fail('the end of the text')
  return fault ?? root ?? { offset: at, expected: value }
}

export const jsonProblem = (
  file: string,
  text: string,
  message: string,
  { offset, expected }: JsonSyntaxFault,
): ConfigProblem => {
  const found = offset < text.length ? quote(text.slice(offset, offset + 30).split('\n', 1)[0] ?? '') : 'the end'
  return { ...fileProblem(file, message, expected, found), ...createPositionFinder(text)(offset) }
}

export const findRepeatedName = (node: JsonNode): JsonSyntaxFault | null => {
  if (node.kind === 'scalar') return null
  const names = new Set<string>()
  for (const { name, nameStart, value } of node.kind === 'array' ? node.items.map(nameless) : node.members) {
    if (name !== null && names.has(name)) return { offset: nameStart, expected: 'each name once in an object' }
    if (name !== null) names.add(name)
    const fault = findRepeatedName(value)
    if (fault !== null) return fault
  }
  return null
}

const nameless = (value: JsonNode) => ({ name: null, nameStart: 0, value })
