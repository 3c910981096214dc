/** A part of a pattern: a text matches the pattern when it matches each part that is not negated, and no other. */
interface PatternPart {
  readonly pattern: string
  readonly isNegated: boolean
}

/**
 * Takes lookaheads off that stand at the start of an anchored pattern: `^(?!\s).+$` accepts what `^.+$` accepts and
 * `^\s` does not. RE2 has no lookahead. What stands elsewhere stays: `^(?!a)b|c` has another start.
 */
export const splitLookaheads = (pattern: string): readonly PatternPart[] => {
  const parts: PatternPart[] = []
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

/** Finds the parenthesis that closes the one at an index; −1: none does. */
const findEnd = (pattern: string, open: number): number => {
  let depth = 0
  for (const { token, index } of tokens(pattern.slice(open))) {
    if (token === '(') depth++
    else if (token === ')' && --depth === 0) return open + index
  }
  return -1
}

/** Tells whether a pattern has alternatives outside of its groups. */
const findBar = (pattern: string): boolean => {
  let depth = 0
  for (const { token } of tokens(pattern)) {
    if (token === '(') depth++
    else if (token === ')') depth--
    else if (token === '|' && depth === 0) return true
  }
  return false
}

// An escape, a class, or another character. The pattern is valid, but for its escapes.
const token = /\\.|\[(?:\\.|[^\]\\])*\]|./gs

const tokens = (pattern: string): readonly { readonly token: string; readonly index: number }[] =>
  [...pattern.matchAll(token)].map((found) => ({ token: found[0], index: found.index }))

/**
 * Writes characters plainly that need no backslash: `\-` outside of a class. With the flag `u`, which JSON Schema asks
 * for (2020-12 core §6.4), ECMA-262 has no such escapes; without it, they stand for the character (annex B.1.2).
 */
export const withoutNeedlessEscapes = (pattern: string): string =>
  pattern.replaceAll(token, (each) => (each.startsWith('[') ? each.replaceAll(/\\[^-]/g, toPlain) : toPlain(each)))

const toPlain = (each: string): string => (/^\\[ !"#%&',\-:;<=>@_`~]$/.test(each) ? each.slice(1) : each)
