import { createRequire } from 'node:module'
import type { Violation, ViolationPlace } from '../../../core/exchange/failures/errors.ts'
import { ownMember } from '../../../core/lib/plain-object.ts'
import { escapeSegment, unescapeSegment } from '../../../core/lib/text/json-pointer.ts'
import type { CompiledContract, SchemaName } from './compiled-contract.ts'
import { StepBudget, TooManyStepsError } from './step-budget.ts'
import { createEqual, createMultipleOf, hasUniqueItems } from './value-checks.ts'

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

interface SchemaError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
}

export const noViolations: readonly Violation[] = []

/** So many violations of one message are told at most. */
export const maxViolations = 10

/** So many characters are told of a pointer and of a detail at most. */
export const maxTextLength = 200

/** Formats where a violation is: `body /id`. The empty pointer stands for the whole (RFC 6901 §5). */
export const formatViolationPlace = ({ in: place, pointer }: Pick<Violation, 'in' | 'pointer'>): string =>
  pointer === '' ? place : `${place} ${pointer}`

/** Converts errors of Ajv. Names that are not in `memberNames` are replaced by `*`; null: all may be told. */
export const toViolations = (
  errors: readonly SchemaError[],
  value: unknown,
  place: ViolationPlace,
  prefix: string,
  memberNames: ReadonlySet<string> | null,
): readonly Violation[] => {
  const violations: Violation[] = []
  const seen = new Set<string>()
  for (const error of errors) {
    const { keyword } = error
    // It says only that another one of the list stands.
    if (keyword === 'if' && errors.length > 1) continue
    const pointer = shorten(prefix + locate(error, value, memberNames))
    const ownPointer = shorten(prefix + locate(error, value, null))
    const key = `${ownPointer} ${keyword}`
    if (seen.has(key)) continue
    seen.add(key)
    const own = ownPointer === pointer ? {} : { ownPointer }
    violations.push({ pointer, ...own, in: place, rule: keyword, detail: shorten(describe(error)) })
    if (violations.length === maxViolations) break
  }
  return violations
}

/** Locates what breaks a rule: a member that is missing or not allowed, and not its object. */
const locate = ({ instancePath, params }: SchemaError, value: unknown, memberNames: ReadonlySet<string> | null) => {
  const { missingProperty: missing, additionalProperty, unevaluatedProperty, propertyName } = params
  // The contract requires it, and so may tell its name.
  if (typeof missing === 'string') return `${redactPointer(instancePath, value, memberNames)}/${escapeSegment(missing)}`
  const name = additionalProperty ?? unevaluatedProperty ?? propertyName
  const pointer = typeof name === 'string' ? `${instancePath}/${escapeSegment(name)}` : instancePath
  return redactPointer(pointer, value, memberNames)
}

const describe = ({ keyword, params, message = 'breaks the schema' }: SchemaError): string => {
  if (keyword === 'const') return `must be ${describeAllowed(params.allowedValue)}`
  if (keyword === 'enum' && Array.isArray(params.allowedValues))
    return `must be one of ${listAllowed(params.allowedValues)}`
  return keyword === 'false schema' ? 'must not be there' : message
}

/** Lists values of the contract, and ends where their text is cut off: there may be thousands. */
const listAllowed = (values: readonly unknown[]): string => {
  let list = ''
  for (const value of values) {
    if (list.length > maxTextLength) break
    list += `${list === '' ? '' : ', '}${describeAllowed(value)}`
  }
  return list
}

const describeAllowed = (value: unknown): string => {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, maxTextLength))
  return typeof value === 'object' && value !== null ? (Array.isArray(value) ? 'an array' : 'an object') : String(value)
}

/** Cuts a text off that is longer than {@link maxTextLength}: names of the contract may be of any length. */
export const shorten = (text: string): string =>
  text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).toWellFormed()}…`

/** Keeps the segments of a pointer that are an index of an array, or a name that the contract knows. */
const redactPointer = (pointer: string, root: unknown, memberNames: ReadonlySet<string> | null): string => {
  if (pointer === '' || memberNames === null) return pointer
  let value = root
  let redacted = ''
  for (const segment of pointer.slice(1).split('/')) {
    const name = unescapeSegment(segment)
    redacted += Array.isArray(value) || memberNames.has(name) ? `/${segment}` : '/*'
    value = Object(value)[name]
  }
  return redacted
}
