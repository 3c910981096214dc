import { quote } from '../../../core/config/problem.ts'
import { isHopByHop } from '../../../core/exchange/header-fields.ts'
import { asPlainObject, isPlainObject } from '../../../core/lib/plain-object.ts'
import { allOperations, type Operation, type OperationId } from '../../../operations.ts'
import type {
  BodyContract,
  MediaTypeContract,
  OperationContract,
  ResponseContract,
} from '../check/compiled-contract.ts'
import { formatMediaType, isJson, parseParameters, splitMediaType } from '../check/media-type.ts'
import type { OneWayKeyword } from './bundle/upgrade-schema.ts'
import type { ContractBundle } from './contract-bundle.ts'
import { asItems, type NodeIssue, type Tree, wrongKey } from './contract-node.ts'
import { readParameters, readValues } from './read-parameters.ts'
import { subSchemas } from './schema-keywords.ts'

export const readOperations = (bundle: ContractBundle): Readonly<Partial<Record<OperationId, OperationContract>>> => {
  const entries = allOperations.flatMap((operation) => {
    const contract = readOperation(bundle, operation)
    return contract === null ? [] : [[operation.id, contract] as const]
  })
  return Object.fromEntries(entries)
}

const readOperation = (bundle: ContractBundle, { path, method }: Operation): OperationContract | null => {
  const item = asPlainObject(asPlainObject(bundle.document.paths)[path])
  const operation = item[method.toLowerCase()]
  const node = isPlainObject(operation) ? bundle.origins.get(operation) : undefined
  if (!isPlainObject(operation) || node === undefined) return null
  if (operation.responses === undefined) bundle.error(operation, [], missing('responses'))
  const responses = asPlainObject(operation.responses)
  return {
    line: node.file.locate(node.path, true).line,
    request: {
      parameters: readParameters(bundle, [item.parameters, operation.parameters]),
      body: readBody(bundle, bundle.followObject(operation.requestBody)),
    },
    responses: Object.keys(responses).flatMap((status) =>
      status.startsWith('x-') ? [] : [readResponse(bundle, responses, status)],
    ),
  }
}

const otherStatus = (status: string): NodeIssue => {
  const meant = /^[1-5]xx$/i.test(status) ? status.toUpperCase() : 'three digits, a digit and XX, or default'
  return wrongKey('this is no status', 'one such as 200, 2XX or default', status, `write ${meant}`)
}

const otherType = (key: string): NodeIssue => {
  const expected = 'one such as application/json, or application/json; v=1'
  return wrongKey('this is no media type', expected, key, 'write the whole type: application/json')
}

const readBody = (bundle: ContractBundle, body: Tree | null): BodyContract | null => {
  if (body === null) return null
  bundle.requireBoolean(body, 'required')
  if (body.content === undefined) bundle.error(body, [], missing('content'))
  return { required: body.required === true, content: readContent(bundle, body.content, 'readOnly') }
}

const readResponse = (bundle: ContractBundle, responses: Tree, status: string): ResponseContract => {
  if (!/^(?:[1-5](?:\d\d|XX)|default)$/.test(status)) bundle.error(responses, [status], otherStatus(status))
  const { headers, content } = bundle.followObject(responses[status]) ?? {}
  const described = Object.entries(asPlainObject(headers)).flatMap(([name, header]) => {
    const followed = bundle.followObject(header)
    const lower = name.toLowerCase()
    if (isHopByHop(lower))
      bundle.warn(asPlainObject(headers), [name], wrongKey(hopByHop, 'a field that goes end to end', name))
    // OpenAPI 3.1 §4.8.17: `content` describes Content-Type.
    const isLeftOut = followed === null || lower === 'content-type' || isHopByHop(lower)
    return isLeftOut ? [] : [readValues(bundle, followed, 'header', lower)]
  })
  return {
    status,
    headers: described,
    content: content === undefined ? null : readContent(bundle, content, 'writeOnly'),
  }
}

const hopByHop = 'this does nothing: the field is about one connection, and no client gets that of the upstream'

const readContent = (bundle: ContractBundle, stated: unknown, oneWay: OneWayKeyword): readonly MediaTypeContract[] => {
  const content = asPlainObject(stated)
  const byKey = new Map<string, string>()
  return Object.entries(content).map(([key, media]) => {
    const parsed = parseMediaType(key)
    if (parsed === null) bundle.error(content, [key], otherType(key))
    const { type, parameters } = parsed ?? { type: key, parameters: [] }
    const same = formatMediaType({ type, parameters: parameters.toSorted(), schema: null })
    const first = byKey.get(same)
    if (first !== undefined)
      bundle.error(content, [key], {
        message: 'the media type is here twice',
        expected: 'each type once, whatever the case, the quotation marks and the order of parameters',
        found: `${quote(key)} beside ${quote(first)}`,
        hint: 'keep one of the two',
        atKey: true,
      })
    byKey.set(same, key)
    const { schema } = asPlainObject(media)
    const isChecked = schema !== undefined && (isJson(type) || type.includes('*'))
    if (isChecked) warnOfOneWayMembers(schema, oneWay, bundle)
    return {
      type,
      ...(parameters.length === 0 ? {} : { parameters }),
      schema: isChecked ? bundle.addSchema(asPlainObject(media), schema) : null,
    }
  })
}

const parseMediaType = (key: string): Required<Omit<MediaTypeContract, 'schema'>> | null => {
  const { type, parameters: stated } = splitMediaType(key)
  const parameters = parseParameters(stated)
  return parameters === null || !typePattern.test(type) ? null : { type, parameters }
}

const typePattern = /^(?:\*\/\*|[\w.+!#$&^-]+\/(?:\*|[\w.+!#$&^-]+))$/

const missing = (name: string): NodeIssue => ({
  message: `${name} is missing`,
  expected: name,
  found: 'nothing',
  hint: `add ${name} below this line`,
  atKey: true,
})

/**
 * In OpenAPI 3.1 both keywords check nothing (JSON Schema Validation §9.4): such a member stays required. A document of
 * 3.0 has been upgraded by then.
 */
const warnOfOneWayMembers = (schema: unknown, keyword: OneWayKeyword, bundle: ContractBundle): void => {
  const seen = bundle.seen[keyword]
  if (!isPlainObject(schema) || seen.has(schema)) return
  seen.add(schema)
  const required = asItems(schema.required)
  const written = asItems(asPlainObject(bundle.origins.get(schema)?.value).required)
  const members = required.length === 0 ? [] : bundle.partsOf(schema).map(({ properties }) => asPlainObject(properties))
  for (const name of required) {
    if (typeof name !== 'string') continue
    const stated = members.flatMap((each) => (Object.hasOwn(each, name) ? bundle.partsOf(each[name]) : []))
    if (stated.some((each) => each[keyword] === true))
      bundle.warn(schema, ['required', written.indexOf(name)], isRequired(name, keyword))
  }
  if (typeof schema.$ref === 'string') warnOfOneWayMembers(bundle.follow(schema.$ref), keyword, bundle)
  for (const inner of subSchemas(schema)) warnOfOneWayMembers(inner.schema, keyword, bundle)
}

const isRequired = (name: string, keyword: OneWayKeyword) => {
  const messages = keyword === 'readOnly' ? 'requests' : 'responses'
  return {
    message: `${messages} without it break the contract: ${keyword} does nothing`,
    expected: `a schema for ${messages} that does not require it`,
    found: `${quote(name)}, which is ${keyword}`,
    hint: `take it out of required, or give ${messages} a schema of their own`,
  }
}
