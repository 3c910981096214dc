import type { OperationNotes } from '../../core/admin/admin-part.ts'
import type { Config } from '../../core/config/config.ts'
import { reasonPhrase } from '../../core/exchange/failures/failure-table.ts'
import { asPlainObject, isPlainObject, type PlainObject } from '../../core/lib/plain-object.ts'
import type { Operation } from '../../operations.ts'
import { type ComponentRegistry, memberOf, withoutMembers } from './component-registry.ts'
import type { ContractOperation, ContractSource } from './contract-source.ts'
import {
  describeByFeatures,
  describeParameters,
  describeProblem,
  problemResponses,
  problemSchema,
  type ResponseField,
  relayedFields,
} from './operation-notes.ts'

interface DescriptionOptions {
  readonly config: Config
  readonly contract: ContractSource
  readonly components: ComponentRegistry
}

export const describeOperation = (operation: Operation, options: DescriptionOptions): PlainObject => {
  const { contract } = options
  const stated = contract.getOperation(operation)
  const notes = describeByFeatures(operation, options.config)
  const security = describeSecurity(notes, options)
  const gaps = findGaps(operation, stated, security !== undefined, contract.resolve)
  const { parameters, requestBody, ...others } = withoutMembers(stated?.operation ?? {}, replaced)
  const statedParameters = Array.isArray(parameters) ? parameters : []
  const inherited = Array.isArray(stated?.pathItem.parameters) ? stated.pathItem.parameters : []
  const known = [...statedParameters, ...inherited].map((parameter) => contract.resolve(parameter))
  const own = describeParameters(options.config, notes)
  const added = own
    .filter(({ value }) => !known.some((parameter) => isSameHeader(parameter, value)))
    .map(({ component, value }) => options.components.refer('parameters', component, value))
  const required = own.filter(({ value }) => value.required === true)
  const toTaken = (parameter: unknown): unknown => {
    const resolved = contract.resolve(parameter)
    const isOptional = required.some(({ value }) => isSameHeader(resolved, value)) && resolved?.required !== true
    return isOptional ? { ...resolved, required: true } : parameter
  }
  const isStated = (parameter: unknown): boolean =>
    statedParameters.some((stated) => isSameHeader(contract.resolve(stated), asPlainObject(parameter)))
  const overriding = inherited.map(toTaken).filter((taken, i) => taken !== inherited[i] && !isStated(taken))
  return {
    ...stated?.pathItem,
    [operation.method.toLowerCase()]: {
      operationId: operation.id,
      tags: [operation.group],
      ...others,
      ...(gaps.length === 0 ? {} : { 'x-gap': gaps }),
      parameters: [...statedParameters.map(toTaken), ...overriding, ...added],
      ...(requestBody === undefined ? {} : { requestBody }),
      responses: describeResponses(operation, options, notes, asPlainObject(stated?.operation.responses)),
      ...(security === undefined ? {} : { security }),
    },
  }
}

const replaced = ['operationId', 'tags', 'responses', 'x-gap']

/** A contract's `parameters`, even empty, is complete. */
const findGaps = (
  { method }: Operation,
  contract: ContractOperation | null,
  hasSecurity: boolean,
  resolve: ContractSource['resolve'],
): readonly string[] => {
  const { pathItem = {}, operation = {} } = contract ?? {}
  const responses = Object.entries(asPlainObject(operation.responses)).map(
    ([status, response]) => [status, resolve(response) ?? {}] as const,
  )
  const isFilled: Readonly<Record<string, boolean>> = {
    'query parameters not specified': Array.isArray(operation.parameters) || Array.isArray(pathItem.parameters),
    'request body not specified': method === 'GET' || isPlainObject(operation.requestBody),
    'response statuses not specified': responses.some(([status]) => isSuccess(status)),
    'response body not specified': responses.some(
      ([status, response]) => isSuccess(status) && hasBody(status, response),
    ),
    'errors of the upstream not specified': responses.some(([status]) => /^([45]..|default)$/.test(status)),
    'authentication not specified': hasSecurity,
  }
  return Object.keys(isFilled).filter((gap) => !isFilled[gap])
}

const isSuccess = (status: string): boolean => /^(2..|default)$/.test(status)

/** RFC 9110 §15.3.5, §15.3.6: 204 and 205 have no body. */
const hasBody = (status: string, { content }: PlainObject): boolean => {
  const types = Object.values(asPlainObject(content))
  return /^20[45]$/.test(status) || types.some((type) => asPlainObject(type).schema !== undefined)
}

/** Undefined: the gateway does not look at credentials. */
const describeSecurity = (notes: readonly OperationNotes[], { components }: DescriptionOptions) => {
  const [security] = notes.flatMap((each) => each.security ?? [])
  return security?.alternatives.map((alternative) =>
    Object.fromEntries(
      Object.entries(alternative).map(([name, scopes]) => [
        components.add('securitySchemes', name, security.schemes[name] ?? {}),
        scopes,
      ]),
    ),
  )
}

const describeResponses = (
  operation: Operation,
  { config, contract, components }: DescriptionOptions,
  notes: readonly OperationNotes[],
  stated: PlainObject,
): PlainObject => {
  const toHeaders = (fields: readonly ResponseField[]): PlainObject =>
    Object.fromEntries(
      fields.map(({ field, component, header }) => [field, components.refer('headers', component, header)]),
    )
  const relayed = toHeaders(relayedFields(operation, config, notes))
  const isStated = Object.keys(stated).length > 0
  const upstreamResponse = { description: relayedDescription, headers: relayed, content: anyContent }
  const { $ref: problem } = components.refer('schemas', 'Problem', problemSchema(config))
  const own: Record<string, PlainObject> = {}
  for (const { responses = {} } of notes)
    for (const [status, response] of Object.entries(responses)) own[status] = { ...response, headers: relayed }
  for (const each of problemResponses(operation, config, notes)) {
    const { description, content } = describeProblem(each.status, each.kinds, problem)
    const response = { description, headers: toHeaders(each.fields), content }
    // An exact status hides `default`, and the upstream may respond with it too.
    own[each.status] = isStated
      ? response
      : {
          ...mergeResponse(upstreamResponse, response, contract.resolve),
          description: `${description}\n\nOr of the upstream, unchanged and not specified.`,
        }
  }
  if (!isStated) own.default = upstreamResponse

  const merged = mergeResponses(stated, own, relayed, contract.resolve)
  return Object.fromEntries(
    Object.entries(merged).map(([status, response]) =>
      response === own[status]
        ? [status, components.refer('responses', responseName(status), response, operation.id)]
        : [status, response],
    ),
  )
}

const relayedDescription = 'What the upstream responds, unchanged. Statuses and bodies are not specified.'
const anyContent = { '*/*': {} }

const responseName = (status: string): string =>
  status === 'default' ? 'Upstream' : reasonPhrase(Number(status)).replaceAll(/[^A-Za-z]/g, '')

const isSameHeader = (parameter: PlainObject | null, own: PlainObject): boolean =>
  memberOf(parameter, 'in') === 'header' &&
  String(memberOf(parameter, 'name')).toLowerCase() === String(own.name).toLowerCase()

type Responses = Readonly<Record<string, PlainObject>>

/** An own status would hide the contract's class or `default` (OpenAPI 3.1 §4.8.16), so it keeps that text too. */
const mergeResponses = (
  contractResponses: PlainObject,
  own: Responses,
  relayed: PlainObject,
  resolve: ContractSource['resolve'],
): Responses => {
  const stated = Object.fromEntries(
    Object.entries(contractResponses).flatMap(([status, response]) => {
      const resolved = resolve(response)
      return resolved === null ? [] : [[status, addFields(resolved, relayed)]]
    }),
  )
  const merged = Object.entries(own).map(([status, response]) => {
    const other = stated[status] ?? stated[`${status.charAt(0)}XX`] ?? stated.default
    return [status, other === undefined ? response : mergeResponse(other, response, resolve)]
  })
  return { ...stated, ...Object.fromEntries(merged) }
}

/** A field that only one of them has becomes optional. */
const mergeResponse = (one: PlainObject, other: PlainObject, resolve: ContractSource['resolve']): PlainObject => {
  const optional = Object.entries(asPlainObject(one.headers)).map(([name, header]) => [
    name,
    withoutMembers(resolve(header) ?? asPlainObject(header), ['required']),
  ])
  return {
    ...addFields({ ...one, headers: Object.fromEntries(optional) }, asPlainObject(other.headers)),
    description: [one.description, other.description].filter((text) => typeof text === 'string').join('\n\n'),
    content: mergeContent(asPlainObject(one.content), asPlainObject(other.content)),
  }
}

const mergeContent = (one: PlainObject, other: PlainObject): PlainObject => {
  const both = Object.keys(one).filter((type) => type in other)
  const merged = both.map((type) => {
    const [first, second] = [asPlainObject(one[type]), asPlainObject(other[type])]
    return [type, { ...first, schema: { anyOf: [first.schema ?? {}, second.schema ?? {}] } }]
  })
  return { ...one, ...other, ...Object.fromEntries(merged) }
}

const addFields = (response: PlainObject, added: PlainObject): PlainObject => {
  const names = new Set(Object.keys(added).map((name) => name.toLowerCase()))
  const kept = Object.entries(asPlainObject(response.headers)).filter(([name]) => !names.has(name.toLowerCase()))
  return { ...response, headers: { ...Object.fromEntries(kept), ...added } }
}
