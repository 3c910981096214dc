import { tryOrNull } from '../../../core/lib/try.ts'
import { looksLikeData } from '../../contract/looks-like-data.ts'
import { learnValue } from './learn-value.ts'
import type { LearnedParameter, LearnedRequest } from './learned-contract.ts'
import { findOrAddName, learnedInTable } from './name-table.ts'
import { createShape, type LearningContext, type Shape } from './shape.ts'

/** `query` is as it came, with its question mark. */
export const learnQuery = (context: LearningContext, request: LearnedRequest, query: string): void => {
  if (query.length < 2) return
  for (const [name, values] of groupByName(query.slice(1))) {
    const isData = !request.parameters.named.has(name) && looksLikeData(name)
    if (isData) request.dataNames++
    const parameter = isData ? undefined : findOrAddName(request.parameters, name, context, table)
    if (parameter !== undefined) learnParameter(context, parameter, values)
  }
}

export const parameterShapes = ({ parameters }: LearnedRequest): readonly Shape[] =>
  learnedInTable(parameters).map(({ values }) => values)

const groupByName = (query: string): ReadonlyMap<string, readonly string[]> => {
  const groups = new Map<string, string[]>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    const values = groups.get(name)
    if (values === undefined) groups.set(name, [value])
    else values.push(value)
  }
  return groups
}

/** Decodes as forms do (WHATWG URL §5.1); what is no percent-encoding stays as it is. */
const decode = (text: string): string => {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  return tryOrNull(() => decodeURIComponent(spaced)) ?? spaced
}

export const createParameter = (): LearnedParameter => ({
  count: 0,
  repeated: 0,
  booleans: 0,
  integers: 0,
  numbers: 0,
  values: createShape(),
})

const learnParameter = (context: LearningContext, parameter: LearnedParameter, values: readonly string[]): void => {
  parameter.count++
  if (values.length > 1) parameter.repeated++
  for (const value of values) {
    if (value === 'true' || value === 'false') parameter.booleans++
    if (integerText.test(value)) parameter.integers++
    if (numberText.test(value)) parameter.numbers++
    learnValue(context, parameter.values, value)
  }
}

/** The most query parameters of one operation. */
const table = { max: 32, create: createParameter }

// As JSON writes them, and short enough to be exact in a double: 007 is a code, and twenty digits are an id.
const integerText = /^-?(?:0|[1-9]\d{0,14})$/
const numberText = /^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$|^-?[1-9]\d{0,14}$/
