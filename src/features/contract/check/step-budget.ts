/** Thrown when more steps were taken than there were. */
export class TooManyStepsError extends Error {}

// A call that fails makes errors.
const stepsPerCall = 10

/** Counts what a text of a client or an upstream makes the process do, in steps of some 4 ns. */
export class StepBudget {
  left: number

  constructor(left = 0) {
    this.left = left
  }

  /** Throws {@link TooManyStepsError} without any left. */
  readonly take = (steps: number): void => {
    this.left -= steps
    if (this.left < 0) throw new TooManyStepsError()
  }

  /** Takes the steps of looking at a value: `more` for what it is held to, and some for a long text. */
  readonly takeCall = (value?: unknown, more = 0): void =>
    this.take((typeof value === 'string' ? stepsPerCall + value.length / 4 : stepsPerCall) + more)
}
