export class TooManyStepsError extends Error {}

// A failing call allocates errors.
const stepsPerCall = 10

/** In steps of about 4 ns. */
export class StepBudget {
  left: number

  constructor(left = 0) {
    this.left = left
  }

  readonly take = (steps: number): void => {
    this.left -= steps
    if (this.left < 0) throw new TooManyStepsError()
  }

  /** `more`: for the schema of the value. */
  readonly takeCall = (value?: unknown, more = 0): void =>
    this.take((typeof value === 'string' ? stepsPerCall + value.length / 4 : stepsPerCall) + more)
}
