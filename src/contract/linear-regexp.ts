import { RE2JS } from 're2js'
import { translatePattern } from './translate-pattern.ts'

/** A pattern of a schema, run in time that grows with the text alone. */
export interface LinearRegExp {
  test(text: string): boolean
  /** The steps that a character takes at most; undefined: a long text takes no longer, or JavaScript runs it. */
  readonly programSize?: () => number
}

/**
 * Compiles a pattern of ECMA-262 (flag `u`). RE2 runs it, which never goes back in its text: a client could otherwise
 * send a text that keeps the gateway busy for hours. JavaScript runs the simplest ones, five times as fast. Throws for
 * what cannot be run so: lookahead, lookbehind and backreferences.
 */
export const linearRegExp = (pattern: string, _flags: string): LinearRegExp => {
  const native = new RegExp(pattern, 'u')
  if (isLinearNatively(pattern)) return native
  const compiled = RE2JS.compile(translatePattern(pattern), 0)
  const isShort = endsEarly(pattern)
  if (compiled.programSize() > (isShort ? maxSteps : maxStepsThroughout)) throw new SyntaxError(tooLarge)
  return isShort ? { test: (text) => compiled.test(text) } : compiled
}

// RE2 takes up to so many steps for each character, of 30 ns each. The steps of a long text are counted.
const maxStepsThroughout = 200
// Where no text of more than so many characters can match, it ends there.
const maxSteps = 2_000

const tooLarge = 'it takes too many steps for each character: repeat less, or anchor it with ^ and without * and +'

/** Tells whether a pattern is anchored and repeats nothing without end, so that a long text fails at once. */
const endsEarly = (pattern: string): boolean => /^\^[^|*+]*$/.test(pattern) && !/\{\d+,\}/.test(pattern)

// One character, an escape that stands for one, or a class; each once or so many times.
const fixedAtom = String.raw`(?:[^\\^$.*+?()[\]{}|]|\.|\\[dDwWsStnrvf^$\\.*+?()[\]{}|/]|\[(?:[^\\[\]]|\\[dDwWsStnrvf^$\\.*+?()[\]{}|/-])*\])(?:\{\d{1,3}\})?`
const simplePattern = new RegExp(`^\\^(?:${fixedAtom}){0,50}(?:[*+]|\\{\\d{1,3},\\d{0,3}\\})?\\$?$`, 'u')

/**
 * Tells whether JavaScript's own engine runs a pattern in linear time. It is anchored at the start, and only its last
 * atom may have a length that varies: there is one way to match, and going back in it finds the end or not.
 */
export const isLinearNatively = (pattern: string): boolean => pattern.length <= 200 && simplePattern.test(pattern)
