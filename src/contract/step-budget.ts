/** Thrown when a validator has taken more steps than it may. */
export class TooManyStepsError extends Error {}

/**
 * Counts what validators do beyond one look at each value: calls of a schema that others refer to, and comparisons. A
 * schema that refers to itself in several branches evaluates a value in each of them: what is nested 40 deep could keep
 * the gateway busy for days.
 */
export class StepBudget {
  left = 0

  /** Takes a step, and more for a long text. Throws {@link TooManyStepsError} when there is none left. */
  readonly take = (value?: unknown): void => {
    this.left -= typeof value === 'string' ? 1 + value.length / 32 : 1
    if (this.left < 0) throw new TooManyStepsError()
  }

  /** Compares two values of JSON, for `uniqueItems`, `const` and `enum`: a step for each value in them. */
  readonly equal = (one: unknown, other: unknown): boolean => {
    this.take()
    if (one === other) return true
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
    if (Array.isArray(one) !== Array.isArray(other)) return false
    const names = Object.keys(one)
    if (names.length !== Object.keys(other).length) return false
    for (const name of names)
      if (!(Object.hasOwn(other, name) && this.equal(Reflect.get(one, name), Reflect.get(other, name)))) return false
    return true
  }
}
