import { createRequire } from 'node:module'
import type { Violation, ViolationPlace } from '../../../core/exchange/failures/errors.ts'
import { ownMember } from '../../../core/lib/plain-object.ts'
import type { CompiledContract, SchemaName } from './compiled-contract.ts'
import { StepBudget, TooManyStepsError } from './step-budget.ts'
import { createEqual, createMultipleOf, hasUniqueItems } from './value-checks.ts'
import { noViolations, type SchemaError, toViolations } from './violations.ts'

export interface ContractValidators {
  /** Gives the steps for all parameters of a head. */
  beginHead(): void
  /**
   * Lists how a value breaks a schema; empty: it does not. `bytes` is the length of a body, which has steps of its
   * own, and more of them when it is long; of a short one all violations are listed, of a long one the first. Without
   * it, the value takes what its head has left. `prefix` is the start of their pointers.
   */
  validate(
    name: SchemaName,
    value: unknown,
    place: ViolationPlace,
    options: { readonly bytes?: number; readonly prefix?: string },
  ): readonly Violation[]
}

interface SchemaValidator {
  (value: unknown): boolean
  errors?: readonly SchemaError[] | null
}

type ValidatorModule = Readonly<Record<SchemaName, SchemaValidator>>

// A step takes some 4 ns: ten milliseconds for a head or a short body, and a tenth of a second at most. A schema that
// refers to itself in several branches evaluates a value in each of them: what is nested 40 deep could take days. An
// item of 100 bytes may be held to a hundred schemas. The first texts of a pattern can take a million.
const baseSteps = 2_500_000
const stepsPerByte = 20
const maxSteps = 20_000_000

// A body of 1 MiB can break a schema in a hundred thousand places, and Ajv makes an object of each.
const maxDetailedBytes = 16 * 1024

/**
 * Evaluates the code of a contract. The slower code is evaluated when it is first needed. `names`: the names that
 * violations may tell, by default those that the contract knows; null: those of messages too.
 */
export const createValidators = (
  { code, detailedCode, memberNames }: CompiledContract,
  names: ReadonlySet<string> | null = new Set(memberNames),
): ContractValidators => {
  const steps = new StepBudget()
  const first = evaluate(code, steps)
  let detailed: ValidatorModule | null = null

  /** Lists all errors with the steps that are left; null: that takes too long. */
  const listErrors = (name: SchemaName, value: unknown): readonly SchemaError[] | null => {
    detailed ??= evaluate(detailedCode, steps)
    return findErrors(detailed[name], value)
  }

  return {
    beginHead() {
      steps.left = baseSteps
    },
    validate(name, value, place, { bytes, prefix = '' }) {
      if (bytes !== undefined) steps.left = Math.min(maxSteps, baseSteps + stepsPerByte * bytes)
      const errors = findErrors(first[name], value)
      if (errors === null) return [{ pointer: prefix, in: place, ...tooComplex }]
      if (errors.length === 0) return noViolations
      return toViolations(
        ((bytes ?? 0) <= maxDetailedBytes ? listErrors(name, value) : null) ?? errors,
        value,
        place,
        prefix,
        names,
      )
    },
  }
}

/** What is said of a value whose check was given up. */
export const tooComplex = { rule: 'complexity', detail: 'to check the value takes too long' } as const

const noErrors: readonly SchemaError[] = []

/** Runs a validator; null: it takes too many steps. */
const findErrors = (validator: SchemaValidator | undefined, value: unknown): readonly SchemaError[] | null => {
  if (validator === undefined) throw new TypeError('the contract has no validator of this name')
  try {
    if (validator(value)) return noErrors
    const { errors } = validator
    validator.errors = null // it would keep the value in memory
    return errors ?? noErrors
  } catch (error) {
    // A schema that refers to nothing but itself takes the stack first.
    if (error instanceof TooManyStepsError || error instanceof RangeError) return null
    throw error
  }
}

const load = createRequire(import.meta.url)

const ucs2length = 'ajv/dist/runtime/ucs2length'

/** What compiled code may ask for; anything else would be a defect of the compiler. */
const modules: Readonly<Record<string, (steps: StepBudget) => unknown>> = {
  [ucs2length]: () => load(ucs2length),
  'ajv/dist/runtime/equal': (steps) => ({ default: createEqual(steps) }),
  'value-checks': (steps) => ({
    createMultipleOf: (divisor: number) => createMultipleOf(divisor, steps),
    hasUniqueItems: (items: readonly unknown[]) => hasUniqueItems(items, steps),
  }),
  formats: (steps) => {
    const { createFormats }: typeof import('./formats.ts') = load('./formats.ts')
    return { formats: createFormats(steps) }
  },
  'linear-regexp': (steps) => {
    const { linearRegExp }: typeof import('./linear-regexp.ts') = load('./linear-regexp.ts')
    return { linearRegExp: (pattern: string) => linearRegExp(pattern, steps) }
  },
}

/** Evaluates code that Ajv made of the operator's own file, in the thread that loads it. Each function takes steps. */
const evaluate = (code: string, steps: StepBudget): ValidatorModule => {
  const exported = {}
  new Function('exports', 'require', 'takeStep', code.replaceAll(functionStart, '$&takeStep();'))(
    exported,
    (name: string) => {
      const open = ownMember(modules, name)
      if (open === undefined) throw new TypeError(`compiled code asks for ${name}`)
      return open(steps)
    },
    steps.takeCall,
  )
  return exported
}

/** How Ajv begins a function. */
const functionStart = /function validate\d+\(data, \{[^{}]*(?:\{\})?[^{}]*\}=\{\}\)\{/g
