import { createRequire } from 'node:module'
import type { Violation, ViolationPlace } from '../../../core/exchange/failures/errors.ts'
import { escapeSegment, ownMember, unescapeSegment } from '../../../core/lib/plain-object.ts'
import type { CompiledContract, SchemaName } from './compiled-contract.ts'
import { StepBudget, TooManyStepsError } from './step-budget.ts'
import { createEqual, createMultipleOf, hasUniqueItems } from './value-checks.ts'

export type ContractValidators = ReturnType<typeof createValidators>

interface ValidateOptions {
  readonly bytes?: number
  readonly prefix?: string
}

type SchemaValidator = ((value: unknown) => boolean) & { errors?: readonly SchemaError[] | null }

type ValidatorModule = Readonly<Record<SchemaName, SchemaValidator>>

// A step takes some 4 ns: at most 100 ms. A schema that refers to itself in several branches could take days for a
// value nested 40 deep.
const baseSteps = 2_500_000
const stepsPerByte = 20
const maxSteps = 20_000_000

// A body of 1 MiB can break a schema in a hundred thousand places, and Ajv makes an object of each.
const maxDetailedBytes = 16 * 1024

/** `names`: the names that violations may show; null: also those of messages. */
export const createValidators = (
  { code, detailedCode, memberNames }: CompiledContract,
  names: ReadonlySet<string> | null = new Set(memberNames),
) => {
  const steps = new StepBudget()
  const first = evaluate(code, steps)
  let detailed: ValidatorModule | null = null

  return {
    beginHead(): void {
      steps.left = baseSteps
    },
    /**
     * A body, of `bytes` length, gets its own steps; a head's values share them. All violations of a short body are
     * listed, of a long one the first. `prefix` starts the pointers.
     */
    validate(name: SchemaName, value: unknown, place: ViolationPlace, { bytes, prefix = '' }: ValidateOptions) {
      if (bytes !== undefined) steps.left = Math.min(maxSteps, baseSteps + stepsPerByte * bytes)
      let errors = findErrors(first[name], value)
      if (errors === null) return [{ pointer: prefix, in: place, ...tooComplex }]
      if (errors.length === 0) return noViolations
      if ((bytes ?? 0) <= maxDetailedBytes) {
        detailed ??= evaluate(detailedCode, steps)
        // The list may take more steps than are left.
        errors = findErrors(detailed[name], value) ?? errors
      }
      return toViolations(errors, value, place, prefix, names)
    },
  }
}

export const tooComplex = { rule: 'complexity', detail: 'checking the value takes too long' } as const

const noErrors: readonly SchemaError[] = []

const findErrors = (validator: SchemaValidator | undefined, value: unknown): readonly SchemaError[] | null => {
  if (validator === undefined) throw new TypeError('the contract has no validator of this name')
  try {
    if (validator(value)) return noErrors
    const { errors } = validator
    validator.errors = null // frees the value
    return errors ?? noErrors
  } catch (error) {
    // A schema that refers only to itself overflows the stack first.
    if (error instanceof TooManyStepsError || error instanceof RangeError) return null
    throw error
  }
}

const load = createRequire(import.meta.url)

/** Code that requires another module is a defect of the compiler. */
const modules: Readonly<Record<string, (steps: StepBudget) => unknown>> = {
  'ajv/dist/runtime/ucs2length': () => load('ajv/dist/runtime/ucs2length'),
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

/** Evaluates code that Ajv made of the operator's own file. Each function takes steps. */
const evaluate = (code: string, steps: StepBudget): ValidatorModule => {
  const exported = {}
  const require = (name: string): unknown => {
    const open = ownMember(modules, name)
    if (open === undefined) throw new TypeError(`compiled code asks for ${name}`)
    return open(steps)
  }
  const stepped = code.replaceAll(functionStart, '$&takeStep();')
  new Function('exports', 'require', 'takeStep', stepped)(exported, require, steps.takeCall)
  return exported
}

const functionStart = /function validate\d+\(data, \{[^{}]*(?:\{\})?[^{}]*\}=\{\}\)\{/g

interface SchemaError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
}

export const noViolations: readonly Violation[] = []

export const maxViolations = 10

export const maxTextLength = 200

/** RFC 6901 §5: the empty pointer stands for the whole. */
export const formatViolationPlace = ({ in: place, pointer }: Pick<Violation, 'in' | 'pointer'>): string =>
  pointer === '' ? place : `${place} ${pointer}`

/** Names that are not in `memberNames` become `*`; null: all names are shown. */
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

/** A missing or forbidden member has no value: its own place is located. */
const locate = ({ instancePath, params }: SchemaError, value: unknown, memberNames: ReadonlySet<string> | null) => {
  const { missingProperty: missing, additionalProperty, unevaluatedProperty, propertyName } = params
  // The contract requires the member, so its name may be shown.
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

/** There may be thousands of values. */
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

export const shorten = (text: string): string =>
  text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).toWellFormed()}…`

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
