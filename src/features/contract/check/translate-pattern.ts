type Ranges = readonly (readonly [number, number])[]

/**
 * Sets of characters are written out, since the engines differ in what `.`, `\s` and `\p{…}` mean. Throws for what RE2
 * cannot do.
 */
export const translatePattern = (pattern: string): string => {
  let translated = ''
  let at = 0
  while (at < pattern.length) {
    syntax.lastIndex = at
    const [found] = syntax.exec(pattern) ?? []
    if (found === undefined) {
      const { ranges, end } = pattern[at] === '[' ? readClass(pattern, at) : readCharacter(pattern, at)
      translated += formatClass(ranges)
      at = end
      continue
    }
    if (/[=!]$/.test(found)) throw new SyntaxError(describeAssertion(pattern, at))
    if (found === '(' && pattern[at + 1] === '?') throw new SyntaxError('it switches flags')
    if (
      found.startsWith('{') &&
      found
        .slice(1, -1)
        .split(',')
        .some((count) => Number(count) > 1000)
    )
      throw new SyntaxError('it repeats something more than 1000 times')
    translated += found.startsWith('(') ? '(?:' : (replaced.get(found) ?? found)
    at += found.length
  }
  return translated
}

// An assertion, the start of a group, a repetition, or what both engines have.
const syntax = /\(\?<?[=!]|\((?:\?:|\?<[^>]*>)?|\{[\d,]*\}|[)|^$*+?.]|\\[bB]/y

const describeAssertion = (pattern: string, at: number): string => {
  if (pattern[at + 2] === '<') return 'it looks behind'
  if (at === 0) return 'it looks ahead without ^ before it, so that the rest may match anywhere'
  if (at === 1 && pattern[0] === '^')
    return 'it looks ahead before alternatives without a group, or in another lookahead'
  return 'it looks ahead behind its start'
}

const readClass = (pattern: string, start: number): Omit<Character, 'single'> => {
  const isNegated = pattern[start + 1] === '^'
  let at = start + (isNegated ? 2 : 1)
  const ranges: (readonly [number, number])[] = []
  while (pattern[at] !== ']') {
    const from = readCharacter(pattern, at)
    at = from.end
    if (from.single === undefined || pattern[at] !== '-' || pattern[at + 1] === ']') {
      ranges.push(...from.ranges)
      continue
    }
    const to = readCharacter(pattern, at + 1)
    ranges.push([from.single, to.single ?? from.single])
    at = to.end
  }
  return { ranges: isNegated ? complement(ranges) : ranges, end: at + 1 }
}

interface Character {
  readonly ranges: Ranges
  readonly end: number
  readonly single?: number
}

const readCharacter = (pattern: string, at: number): Character => {
  if (pattern[at] === '\\') return readEscape(pattern, at)
  const code = pattern.codePointAt(at) ?? 0
  return one(code, at + (code > 0xffff ? 2 : 1))
}

const one = (code: number, end: number): Character => {
  if (code >= 0xd800 && code <= 0xdfff) throw new SyntaxError('it holds half of a surrogate pair')
  return { ranges: [[code, code]], end, single: code }
}

const readEscape = (pattern: string, at: number): Character => {
  const letter = pattern[at + 1] as string
  const set = sets[letter.toLowerCase()]
  if (set !== undefined) return { ranges: /[DSW]/.test(letter) ? complement(set) : set, end: at + 2 }
  const control = controls[letter]
  if (control !== undefined) return one(control, at + 2)
  if (letter === 'k' || /[1-9]/.test(letter)) throw new SyntaxError('it refers back to a group')
  const rest = pattern.slice(at, at + 200)
  const property = /^\\p\{[^}]*\}/i.exec(rest)
  if (property !== null) return { ranges: rangesOf(property[0]), end: at + property[0].length }
  if (letter === 'c') return one((rest.codePointAt(2) ?? 0) % 32, at + 3)
  const pair = /^\\u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})/i.exec(rest)
  if (pair !== null) {
    const text = String.fromCharCode(...pair.slice(1).map((hex) => Number.parseInt(hex, 16)))
    return one(text.codePointAt(0) ?? 0, at + pair[0].length)
  }
  const code = /^\\(?:x([\da-f]{2})|u([\da-f]{4})|u\{([\da-f]+)\})/i.exec(rest)
  if (code === null) return one(letter.charCodeAt(0), at + 2) // an escaped character of the syntax
  const [whole, ...digits] = code
  return one(Number.parseInt(digits.join(''), 16), at + whole.length)
}

const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0, b: 8 }

const lastCodePoint = 0x10ffff

const complement = (ranges: Ranges): Ranges => {
  const gaps: [number, number][] = []
  let next = 0
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from > next) gaps.push([next, from - 1])
    next = Math.max(next, to + 1)
  }
  if (next <= lastCodePoint) gaps.push([next, lastCodePoint])
  return gaps
}

/** Uses JavaScript's tables of Unicode, whose version differs from RE2's. */
const rangesOf = (property: string): Ranges => {
  const known = properties.get(property)
  if (known !== undefined) return known
  const set = new RegExp(`^${property}$`, 'u')
  const ranges: [number, number][] = []
  let isInside = false
  for (let code = 0; code <= lastCodePoint; code++) {
    const isNext = set.test(String.fromCodePoint(code))
    if (isNext && !isInside) ranges.push([code, code])
    const current = ranges.at(-1)
    if (isNext && current !== undefined) current[1] = code
    isInside = isNext
  }
  properties.set(property, ranges)
  return ranges
}

const properties = new Map<string, Ranges>()

const each = (...codes: readonly number[]): Ranges => codes.map((code) => [code, code])

// ECMA-262 §22.2.2: LineTerminator, and WhiteSpace with it.
const lineTerminators: Ranges = [...each(10, 13), [0x2028, 0x2029]]
const spaces: Ranges = [
  [9, 13],
  ...each(32, 0xa0, 0x1680),
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  ...each(0x202f, 0x205f, 0x3000, 0xfeff),
]
const wordCharacters: Ranges = [[48, 57], [65, 90], ...each(95), [97, 122]]
const sets: Readonly<Record<string, Ranges>> = { d: [[48, 57]], s: spaces, w: wordCharacters }

const formatClass = (ranges: Ranges): string => {
  const [first] = ranges
  if (first === undefined) return `[^\\x{0}-\\x{${lastCodePoint.toString(16)}}]`
  const format = (code: number): string => `\\x{${code.toString(16)}}`
  if (ranges.length === 1 && first[0] === first[1]) return format(first[0])
  return `[${ranges.map(([from, to]) => (from === to ? format(from) : `${format(from)}-${format(to)}`)).join('')}]`
}

const replaced: ReadonlyMap<string, string> = new Map([
  ['$', '\\z'],
  ['.', formatClass(complement(lineTerminators))],
])

/**
 * RE2 has no lookahead: `^(?!\s).+$` accepts texts that match `^.+$` and not `^\s`. Lookaheads elsewhere stay: the
 * second alternative of `^(?!a)b|c` starts elsewhere.
 */
export const splitLookaheads = (pattern: string): readonly { pattern: string; isNegated: boolean }[] => {
  const parts: { pattern: string; isNegated: boolean }[] = []
  let at = 1
  for (;;) {
    const [, sign] = /^\(\?([=!])/.exec(pattern.slice(at, at + 3)) ?? []
    const end = sign === undefined ? -1 : findEnd(pattern, at)
    if (end === -1) break
    const inner = pattern.slice(at + 3, end)
    parts.push({ pattern: findBar(inner) ? `^(?:${inner})` : `^${inner}`, isNegated: sign === '!' })
    at = end + 1
  }
  const rest = pattern.slice(at)
  if (pattern[0] !== '^' || parts.length === 0 || findBar(rest)) return [{ pattern, isNegated: false }]
  return [...parts, { pattern: `^${rest}`, isNegated: false }]
}

const findEnd = (pattern: string, open: number): number => {
  const end = tokens(pattern.slice(open)).find(({ token, depth }) => token === ')' && depth === 0)
  return end === undefined ? -1 : open + end.index
}

const findBar = (pattern: string): boolean => tokens(pattern).some(({ token, depth }) => token === '|' && depth === 0)

const token = /\\.|\[(?:\\.|[^\]\\])*\]|./gs

const tokens = (pattern: string) => {
  let depth = 0
  return [...pattern.matchAll(token)].map(({ 0: found, index }) => {
    if (found === '(') depth++
    if (found === ')') depth--
    return { token: found, index, depth }
  })
}

/**
 * With the flag `u`, which JSON Schema asks for (2020-12 core §6.4), ECMA-262 rejects `\-` outside of a class; without
 * it, `\-` stands for `-` (annex B.1.2).
 */
export const withoutNeedlessEscapes = (pattern: string): string =>
  pattern.replaceAll(token, (each) => (each.startsWith('[') ? each.replaceAll(/\\[^-]/g, toPlain) : toPlain(each)))

const toPlain = (each: string): string => (/^\\[ !"#%&',\-:;<=>@_`~]$/.test(each) ? each.slice(1) : each)
