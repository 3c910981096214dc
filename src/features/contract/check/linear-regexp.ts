import { RE2JS } from 're2js'
import type { StepBudget } from './step-budget.ts'
import { splitLookaheads, translatePattern, withoutNeedlessEscapes } from './translate-pattern.ts'

/**
 * Runs a pattern of ECMA-262 (flag `u`) in RE2, which never backtracks: a client's text could otherwise keep the
 * gateway busy for hours. JavaScript runs the simplest patterns, five times as fast. Throws for what RE2 cannot do.
 * `steps` null: no limit.
 */
export const linearRegExp = (pattern: string, steps: StepBudget | null): Pick<RegExp, 'test'> => {
  const stated = withoutNeedlessEscapes(pattern)
  new RegExp(stated, 'u') // throws for an invalid pattern
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
// RE2 takes 100 to 360 ns to add a transition to its automaton, for each instruction in the state.
const stepsPerInstruction = 40

const count = (compiled: RegExp | RE2JS, steps: StepBudget): Pick<RegExp, 'test'> => {
  if (compiled instanceof RegExp)
    return {
      test: (text) => {
        steps.take(stepsPerNativePattern + text.length)
        return compiled.test(text)
      },
    }
  // The automaton finds a character's range in 6 ns among 8 ranges, in 70 ns among the 1,300 of \p{L}.
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
 * Takes steps of the budget for each state that RE2 adds to its automaton. Where a pattern can match in several ways,
 * each text can add states: `^[a ]{1,50}(?: [a ]{1,50}){0,3}$` would take 10 s for 1 MiB of texts. Uses internals of
 * re2js, so package.json pins its version.
 */
const countTransitions = (re2: RE2JS['re2Input'], steps: StepBudget): void => {
  // The onepass engine would replace the automaton, and is slower.
  Object.assign(re2, { onepass: null } satisfies { [name in keyof typeof re2]?: unknown })
  const { dfa } = re2
  const stepOrReset = dfa.stepOrReset.bind(dfa)
  dfa.stepOrReset = (state, cls, rune, anchor, pos) => {
    const known = state.next?.[cls]
    if (known) return known
    // A search that has not emptied a full automaton yet may do so; then another engine takes over.
    const next = stepOrReset(state, cls, rune, anchor, pos, { resetPos: -1 })
    steps.take((state.nfaStates.length + next.nfaStates.length) * stepsPerInstruction)
    return next
  }
}

/** Instructions with the same ranges share their `runes`. `arg`: whether the other case matches too, as in `[Tt]`. */
interface Instruction {
  readonly runes: Int32Array
  readonly arg: number
  matchRune(rune: number): boolean
}

/** Lets the automaton distinguish characters only where the pattern does: for `\p{L}`, 800 states would fill it. */
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

// Steps for each character, of 15 to 30 ns each.
const maxStepsThroughout = 200
// For patterns that reject long texts at once.
const maxSteps = 2_000

const tooLarge = 'it takes too many steps for each character: repeat less, or anchor it with ^ and without * and +'

/** An anchored pattern without unbounded repetition fails at once on a long text. */
const endsEarly = (pattern: string): boolean => /^\^[^|*+]*$/.test(pattern) && !/\{\d+,\}/.test(pattern)

// A character, an escape or a class; each once or a fixed number of times.
const fixedAtom = String.raw`(?:[^\\^$.*+?()[\]{}|]|\.|\\[dDwWsStnrvf^$\\.*+?()[\]{}|/]|\[(?:[^\\[\]]|\\[dDwWsStnrvf^$\\.*+?()[\]{}|/-])*\])(?:\{\d{1,3}\})?`
const simplePattern = new RegExp(`^\\^(?:${fixedAtom}){0,50}(?:[*+]|\\{\\d{1,3},\\d{0,3}\\})?\\$?$`, 'u')

/** Only the last atom of an anchored pattern may vary in length: there is one way to match. */
export const isLinearNatively = (pattern: string): boolean => pattern.length <= 200 && simplePattern.test(pattern)
