import { RE2JS } from 're2js'
import type { StepBudget } from './step-budget.ts'
import { splitLookaheads, translatePattern, withoutNeedlessEscapes } from './translate-pattern.ts'

interface TextPattern {
  readonly test: (text: string) => boolean
}

/**
 * Compiles a pattern of ECMA-262 (flag `u`). RE2 runs it, which never goes back in its text: a client could otherwise
 * send a text that keeps the gateway busy for hours. JavaScript runs the simplest ones, five times as fast. Throws for
 * what cannot be run so: lookahead elsewhere than at the start, lookbehind and backreferences. What it does with a text
 * takes `steps`; null: nothing is counted.
 */
export const linearRegExp = (pattern: string, steps: StepBudget | null): TextPattern => {
  const stated = withoutNeedlessEscapes(pattern)
  new RegExp(stated, 'u') // it throws where the whole is invalid
  // One that begins with lookaheads has several parts.
  const parts = splitLookaheads(stated).map((part) => {
    const compiled = compile(part.pattern)
    return { matcher: steps === null ? compiled : count(compiled, steps), isNegated: part.isNegated }
  })
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only.matcher
  return { test: (text) => parts.every(({ matcher, isNegated }) => matcher.test(text) !== isNegated) }
}

const compile = (pattern: string): RegExp | RE2JS => {
  const native = new RegExp(pattern, 'u')
  if (isLinearNatively(pattern)) return native
  const compiled = RE2JS.compile(translatePattern(pattern), 0)
  if (compiled.programSize() > (endsEarly(pattern) ? maxSteps : maxStepsThroughout)) throw new SyntaxError(tooLarge)
  return compiled
}

const stepsPerNativePattern = 40
const stepsPerPattern = 60
// To add a transition to its automaton takes RE2 100 to 360 ns for each instruction of its program that stands for it.
const stepsPerInstruction = 40

const count = (compiled: RegExp | RE2JS, steps: StepBudget): TextPattern => {
  if (compiled instanceof RegExp)
    return {
      test: (text) => {
        steps.take(stepsPerNativePattern + text.length)
        return compiled.test(text)
      },
    }
  // The automaton finds a character among so many ranges: in 6 ns among eight, in 70 ns among the 1,300 of \p{L}.
  const perCharacter = 1 + Math.log2(compiled.re2Input.dfa.numClasses)
  mergeClasses(compiled.re2Input)
  countTransitions(compiled.re2Input, steps)
  return {
    test: (text) => {
      steps.take(stepsPerPattern + text.length * perCharacter)
      return compiled.test(text)
    },
  }
}

/**
 * Has RE2 take steps where a text leads its automaton to what it does not know yet. Where there are several ways to
 * match, each new text can: `^[a ]{1,50}(?: [a ]{1,50}){0,3}$` then takes 10 s for 1 MiB of texts. What is used here
 * and in {@link mergeClasses} are internals of re2js: package.json names one version of it.
 */
const countTransitions = (re2: RE2JS['re2Input'], steps: StepBudget): void => {
  // This engine would run in place of the automaton, and is slower.
  Object.assign(re2, { onepass: null } satisfies { [name in keyof typeof re2]?: unknown })
  const { dfa } = re2
  const stepOrReset = dfa.stepOrReset.bind(dfa)
  dfa.stepOrReset = (state, cls, rune, anchor, pos) => {
    const known = state.next?.[cls]
    if (known) return known
    // A search that has not emptied a full automaton yet may do so. One that may not goes on in another engine.
    const next = stepOrReset(state, cls, rune, anchor, pos, { resetPos: -1 })
    steps.take((state.nfaStates.length + next.nfaStates.length) * stepsPerInstruction)
    return next
  }
}

/**
 * An instruction of RE2's program. It takes the characters of `runes`, ranges or one character, which those that repeat
 * it share. `arg` tells whether it takes the other case of the one as well: `[Tt]` and `T` share their `runes`, too.
 */
interface Instruction {
  readonly runes: Int32Array
  readonly arg: number
  matchRune(rune: number): boolean
}

/**
 * Has RE2's automaton tell characters apart only where the pattern does. It has a class for each range, 1,300 for
 * `\p{L}`: each state then has a table of 10 kB, is full of what it does not know, and 800 of them fill the automaton.
 */
const mergeClasses = ({ prog, dfa }: RE2JS['re2Input']): void => {
  const instructions: readonly Instruction[] = prog.inst
  const taking = instructions.filter(({ runes }) => runes.length > 0)
  const sets = [...Map.groupBy(taking, ({ runes }) => runes).values()].flatMap((each) => [
    ...new Map(each.map((instruction) => [instruction.arg, instruction])).values(),
  ])
  const kinds = new Map<string, number>()
  const classes = [0, ...dfa.classBounds].map((first) => {
    const isWord = first < 0x80 && /\w/.test(String.fromCharCode(first)) // for \b
    const kind = [isWord, first === 10, ...sets.map((set) => set.matchRune(first))].join()
    const merged = kinds.get(kind) ?? kinds.size
    kinds.set(kind, merged)
    return merged
  })
  const searchClass = dfa.searchClass.bind(dfa)
  dfa.searchClass = (rune) => classes[searchClass(rune)] ?? 0
  dfa.latin1Class = dfa.latin1Class.map((each) => classes[each] ?? 0)
  dfa.numClasses = kinds.size
}

// RE2 takes up to so many steps for each character, of 15 to 30 ns each.
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
