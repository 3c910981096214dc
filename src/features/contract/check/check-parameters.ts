import type { Violation } from '../../../core/exchange/failures/errors.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { escapeSegment } from '../../../core/lib/text/json-pointer.ts'
import type { JsonType, ParameterContract } from './compiled-contract.ts'
import {
  emptyParameter,
  type ParameterValue,
  parseQuery,
  readHeaderParameter,
  readQueryParameter,
  toTyped,
} from './parameter-values.ts'
import type { ContractValidators } from './validators.ts'
import { maxViolations, shorten } from './violations.ts'

/** Checks the parameters of a message: those of its query, and its fields but for absent ones of `laterFields`. */
export const checkParameters = (
  contracts: readonly ParameterContract[],
  validators: ContractValidators,
  query: string,
  fields: HeaderFields,
  violations: Violation[],
  laterFields?: ReadonlySet<string>,
): void => {
  if (contracts.length === 0) return
  validators.beginHead()
  const inQuery = parseQuery(query)
  if (inQuery === null) violations.push({ pointer: '', in: 'query', ...parameterFaults.encoding })
  for (const contract of contracts) {
    if (contract.in === 'query') {
      if (inQuery !== null) checkParameter(contract, validators, readQueryParameter(contract, inQuery), violations)
    } else {
      const read = readHeaderParameter(contract, fields)
      if (read.kind === 'absent' && laterFields?.has(contract.name) === true) continue
      checkParameter(contract, validators, read, violations)
    }
    if (violations.length < maxViolations) continue
    violations.length = maxViolations
    return
  }
}

const checkParameter = (
  { name, in: place, required, types, schema }: ParameterContract,
  validators: ContractValidators,
  read: ParameterValue,
  violations: Violation[],
): void => {
  const pointer = shorten(`/${escapeSegment(name)}`)
  if (read.kind === 'fault') violations.push({ pointer, in: place, ...parameterFaults[read.rule] })
  else if (read.kind === 'absent') {
    if (required) violations.push({ pointer, in: place, rule: 'required', detail: 'the parameter has to be there' })
  } else if (schema !== null && read.value !== emptyParameter) {
    const options = { prefix: pointer }
    const found = validators.validate(schema, read.value, place, options)
    if (found.length === 0) return
    // A schema without `type` (`enum: [1, 2]`) may mean another type than a string.
    const isOther = types.length === 0 && typeof read.value === 'string'
    const typed = isOther ? toTyped(read.value, scalarTypes) : read.value
    if (typed === read.value || validators.validate(schema, typed, place, options).length > 0) violations.push(...found)
  }
}

const scalarTypes: readonly JsonType[] = ['number', 'boolean', 'null']

const parameterFaults: Readonly<
  Record<Extract<ParameterValue, { kind: 'fault' }>['rule'], Pick<Violation, 'rule' | 'detail'>>
> = {
  encoding: { rule: 'encoding', detail: 'the percent-encoding is broken (RFC 3986 §2.1)' },
  'duplicate-parameter': { rule: 'duplicate-parameter', detail: 'the parameter may stand there once' },
  'array-items': {
    rule: 'array-items',
    detail: 'the items of an array are written in one way: a=1&a=2, a[]=1&a[]=2, or a[0]=1&a[1]=2 without a gap',
  },
  json: { rule: 'json', detail: 'the value has to be JSON' },
}
