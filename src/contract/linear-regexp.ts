import { RE2JS } from 're2js'
import type { StepBudget } from './step-budget.ts'
import { translatePattern } from './translate-pattern.ts'

/**
 * Compiles a pattern of ECMA-262 (flag `u`). RE2 runs it, which never goes back in its text: a client could otherwise
 * send a text that keeps the gateway busy for hours. JavaScript runs the simplest ones, five times as fast. Throws for
 * what cannot be run so: lookahead, lookbehind and backreferences.
 */
export const linearRegExp = (pattern: string, _flags: string): RegExp | RE2JS => {
  const native = new RegExp(pattern, 'u')
  if (isLinearNatively(pattern)) return native
  const compiled = RE2JS.compile(translatePattern(pattern), 0)
  if (compiled.programSize() > (endsEarly(pattern) ? maxSteps : maxStepsThroughout)) throw new SyntaxError(tooLarge)
  return compiled
}

/** Compiles a pattern as {@link linearRegExp} does. What it does with a text takes steps. */
export const countedRegExp = (pattern: string, steps: StepBudget): { readonly test: (text: string) => boolean } => {
  const compiled = linearRegExp(pattern, 'u')
  if (compiled instanceof RegExp)
    return {
      test: (text) => {
        steps.takeNativePattern(text.length)
        return compiled.test(text)
      },
    }
  // The automaton finds a character among so many classes: in 6 ns among eight, in 70 ns among the 1,300 of \p{L}.
  const perCharacter = 1 + Math.log2(compiled.re2Input.dfa.numClasses)
  countInstructions(compiled.re2Input, steps)
  return {
    test: (text) => {
      steps.takePattern(text.length, perCharacter)
      return compiled.test(text)
    },
  }
}

/**
 * Has RE2 take steps for each instruction of its program that it looks at. RE2 makes an automaton while it reads texts,
 * and looks at instructions only for what no text has led it to before. Where there are several ways to match, each new
 * text can: `^[a ]{1,50}(?: [a ]{1,50}){0,3}$` then takes 10 s for 1 MiB of texts.
 */
const countInstructions = (re2: RE2JS['re2Input'], steps: StepBudget): void => {
  const { prog } = re2
  const { inst } = prog
  prog.getInst = (pc: number) => {
    steps.takeInstruction()
    return inst[pc]
  }
  const runThroughout = re2.doExecuteNFA.bind(re2)
  Object.assign(re2, {
    onepass: null, // it asks for no instruction, and is slower than the automaton
    // For a long text that the automaton has given up: it asks for no instruction either.
    doExecuteNFA: (...args: Parameters<typeof runThroughout>) => {
      steps.takeWholeProgram(args[0].endPos() * inst.length)
      return runThroughout(...args)
    },
  })
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
