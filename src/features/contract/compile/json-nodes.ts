import { fileProblem, quote } from '../../../core/config/problem.ts'
import { createPositionFinder } from '../../../core/config/yaml/yaml-nodes.ts'
import { parseJson } from '../../../core/lib/plain-object.ts'

export type JsonNode = { readonly start: number; readonly end: number } & (
  | { readonly kind: 'object' | 'array'; readonly entries: readonly JsonEntry[] }
  | { readonly kind: 'scalar'; readonly value: JsonScalar }
)

type JsonScalar = string | number | boolean | null

/** A name may stand twice in its object; an item's name is its index. */
interface JsonEntry {
  readonly name: string | number
  readonly nameStart: number
  readonly value: JsonNode
}

export interface JsonSyntaxFault {
  readonly offset: number
  readonly expected: string
}

const space = /[ \t\n\r]*/y
const word = /[-+.\w]+/y
const anyValue = 'a value: an object, a list, a text in double quotes, a number, true, false or null'

/** JSON.parse gives no places. `remedy` ends the message about `maxDepth`. */
export const parseJsonNodes = (text: string, maxDepth = 200, remedy = ''): JsonNode | JsonSyntaxFault => {
  let at = 0
  let fault: JsonSyntaxFault | undefined

  const fail = (expected: string, offset = at): undefined => {
    fault ??= { offset, expected }
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

  const readValue = (depth: number): JsonNode | undefined => {
    take(space)
    const start = at
    if (depth > maxDepth) return fail(`at most ${maxDepth} levels${remedy}`)
    const close = skip('{') ? '}' : skip('[') ? ']' : null
    if (close !== null) {
      const entries = readEntries(close, depth + 1)
      return entries && { kind: close === '}' ? 'object' : 'array', start, end: at, entries }
    }
    const value = text[at] === '"' ? readText() : (parseJson(take(word)) as JsonScalar | undefined)
    return value === undefined ? fail(anyValue, start) : { kind: 'scalar', start, end: at, value }
  }

  const readText = (): string | undefined => {
    const start = at
    for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++
    at++
    const read = parseJson(text.slice(start, at))
    if (typeof read === 'string') return read
    return fail('a text between double quotes on one line, with \\" and \\\\ for quotes and backslashes in it', start)
  }

  const readEntries = (close: '}' | ']', depth: number): readonly JsonEntry[] | undefined => {
    const entries: JsonEntry[] = []
    if (skip(close)) return entries
    do {
      take(space)
      const nameStart = at
      const name = close === ']' ? entries.length : readName(entries.length === 0)
      const value = name === undefined ? undefined : readValue(depth)
      if (name === undefined || value === undefined) return undefined
      entries.push({ name, nameStart, value })
      if (skip(close)) return entries
    } while (skip(','))
    return fail(`a comma, or ${close}`)
  }

  const readName = (isFirst: boolean): string | undefined => {
    if (text[at] !== '"') return fail(`a name in double quotes${isFirst ? ', or }' : ''}`)
    const name = readText()
    return name === undefined || skip(':') ? name : fail('a colon')
  }

  const root = readValue(0)
  take(space)
  if (root !== undefined && at < text.length) fail('the end of the text')
  return fault ?? root ?? { offset: at, expected: anyValue }
}

export const jsonProblem = (file: string, text: string, message: string, { offset, expected }: JsonSyntaxFault) => {
  const found = offset < text.length ? quote(text.slice(offset, offset + 30).split('\n', 1)[0] ?? '') : 'the end'
  return { ...fileProblem(file, message, expected, found), ...createPositionFinder(text)(offset) }
}

export const findRepeatedName = (node: JsonNode): JsonSyntaxFault | null => {
  if (node.kind === 'scalar') return null
  const names = new Set<string | number>()
  for (const { name, nameStart, value } of node.entries) {
    if (names.has(name)) return { offset: nameStart, expected: 'each name once in an object' }
    names.add(name)
    const fault = findRepeatedName(value)
    if (fault !== null) return fault
  }
  return null
}
