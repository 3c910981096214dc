/** Thrown when a validator has taken more steps than it may. */
export class TooManyStepsError extends Error {}

// A call that fails makes errors.
const stepsPerCall = 10
const stepsPerNativePattern = 40
const stepsPerPattern = 60
// To add a transition to its automaton takes RE2 100 to 360 ns for each instruction of its program that stands for it.
const stepsPerInstruction = 40
// Numbers of more than 15 digits are divided as integers of any size: 0.5 to 1 µs.
const stepsPerLongNumber = 150

/**
 * Counts what validators do, in steps of some 4 ns: checks of a schema, comparisons, and patterns. A schema that refers
 * to itself in several branches evaluates a value in each of them: what is nested 40 deep could keep the gateway busy
 * for days. Fifty branches for each item of a large body would do so for a second.
 */
export class StepBudget {
  left = 0

  /**
   * Takes the steps of a check of a schema, or of a value that `uniqueItems` looks at: `more` for what it names, and
   * some for a long text. Throws {@link TooManyStepsError} without any left.
   */
  readonly takeCall = (value?: unknown, more = 0): void =>
    this.#take((typeof value === 'string' ? stepsPerCall + value.length / 4 : stepsPerCall) + more)

  /** Takes the steps of a pattern of RE2 whose automaton knows the text: so many for each of its characters. */
  readonly takePattern = (textLength: number, perCharacter: number): void =>
    this.#take(stepsPerPattern + textLength * perCharacter)

  /** Takes the steps of a transition that RE2 adds to its automaton, between states of so many instructions. */
  readonly takeTransition = (instructions: number): void => this.#take(instructions * stepsPerInstruction)

  /** Takes the steps of a pattern that JavaScript runs. */
  readonly takeNativePattern = (textLength: number): void => this.#take(stepsPerNativePattern + textLength)

  /** Takes the steps of dividing a number of many digits, for `multipleOf`. */
  readonly takeLongNumber = (): void => this.#take(stepsPerLongNumber)

  /** Takes the steps of a format of which the check takes long. */
  readonly takeFormat = (steps: number): void => this.#take(steps)

  /** Compares two values of JSON, for `const` and `enum`: a step for each value in them. */
  readonly equal = (one: unknown, other: unknown): boolean => {
    if (--this.left < 0) throw new TooManyStepsError()
    if (one === other) return true
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
    if (Array.isArray(one) !== Array.isArray(other)) return false
    return this.#haveEqualMembers(one as Members, other as Members)
  }

  #take(steps: number): void {
    this.left -= steps
    if (this.left < 0) throw new TooManyStepsError()
  }

  /** Compares members until two differ: no list of names is made, since most values differ in their first member. */
  #haveEqualMembers(one: Members, other: Members): boolean {
    let left = 0
    for (const name in one) {
      if (!(Object.hasOwn(other, name) && this.equal(one[name], other[name]))) return false
      left++
    }
    for (const _ in other) left--
    return left === 0
  }
}

/** What JSON.parse makes of an object or an array: nothing is inherited that is enumerable. */
type Members = Readonly<Record<string, unknown>>
