import { createRequire } from 'node:module'
import type { CompiledContract, SchemaName, Violation, ViolationPlace } from './compiled-contract.ts'
import { type SchemaError, toViolations } from './violations.ts'

/** The validators of a contract. */
export interface ContractValidators {
  /**
   * Lists how a value breaks a schema; empty: it does not. `isSmall`: all violations, instead of the first. `prefix` is
   * the start of their pointers.
   */
  validate(
    name: SchemaName,
    value: unknown,
    place: ViolationPlace,
    options: { readonly isSmall: boolean; readonly prefix?: string },
  ): readonly Violation[]
}

/** A validator as Ajv compiles it. */
interface SchemaValidator {
  (value: unknown): boolean
  errors?: readonly SchemaError[] | null
}

type ValidatorModule = Readonly<Record<SchemaName, SchemaValidator>>

const load = createRequire(import.meta.url)

// What compiled code may ask for; anything else would be a defect of the compiler.
const allowedModules = [
  'ajv/dist/runtime/ucs2length',
  'ajv/dist/runtime/equal',
  'ajv/dist/runtime/uri',
  'ajv-formats/dist/formats',
]

const requireModule = (name: string): unknown => {
  if (name === linearRegExpModule) return load('./linear-regexp.ts')
  if (!allowedModules.includes(name)) throw new TypeError(`compiled code asks for ${name}`)
  return load(name)
}

/** The name by which compiled code asks for {@link linearRegExp}. */
export const linearRegExpModule = 'linear-regexp'

/** Evaluates the code of a contract. The slower code is evaluated when it is first needed. */
export const createValidators = ({ code, detailedCode, memberNames }: CompiledContract): ContractValidators => {
  const names = new Set(memberNames)
  const first = evaluate(code)
  let detailed: ValidatorModule | null = null
  return {
    validate(name, value, place, { isSmall, prefix = '' }) {
      const validator = first[name]
      if (validator === undefined) throw new TypeError(`the contract has no validator ${name}`)
      if (validator(value)) return noViolations
      let { errors } = validator
      if (isSmall) {
        detailed ??= evaluate(detailedCode)
        const every = detailed[name]
        if (every !== undefined && !every(value)) errors = every.errors
        if (every !== undefined) every.errors = null
      }
      validator.errors = null // it would keep the value in memory
      return toViolations(errors ?? [], value, place, prefix, names)
    },
  }
}

const noViolations: readonly Violation[] = []

/** Evaluates code that Ajv made of the operator's own file, in the thread that loads it. */
const evaluate = (code: string): ValidatorModule => {
  const exported = {}
  new Function('exports', 'require', code)(exported, requireModule)
  return exported
}
