import { asPlainObject, type PlainObject } from '../../core/lib/plain-object.ts'
import type { ContractSource } from './contract-source.ts'
import { withoutMembers } from './openapi-node.ts'

/** Responses by status, by class of statuses (`4XX`), or `default`. */
type Responses = Readonly<Record<string, PlainObject>>

/**
 * Merges the responses that a contract states with the gateway's own. `relayed` are the header fields that the gateway
 * adds to what an upstream responds. A status that both have gets the media types and the header fields of both. A
 * status that only the gateway has keeps what the contract says of its class or of any status: an exact status would
 * hide it otherwise (OpenAPI 3.1 §4.8.16).
 */
export const mergeResponses = (
  contractResponses: PlainObject,
  own: Responses,
  relayed: PlainObject,
  resolve: ContractSource['resolve'],
): Responses => {
  const stated = Object.fromEntries(
    Object.entries(contractResponses).flatMap(([status, response]) => {
      const resolved = resolve(response)
      return resolved === null ? [] : [[status, addFields(withoutMembers(resolved, ['links']), relayed)]]
    }),
  )
  const merged = Object.entries(own).map(([status, response]) => {
    const other = stated[status] ?? stated[`${status.charAt(0)}XX`] ?? stated.default
    return [status, other === undefined ? response : mergeResponse(other, response, resolve)]
  })
  return { ...stated, ...Object.fromEntries(merged) }
}

/** A field that only one of them has is not required any more. */
export const mergeResponse = (
  one: PlainObject,
  other: PlainObject,
  resolve: ContractSource['resolve'],
): PlainObject => {
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

/** They replace those with the same name: names compare case-insensitively. */
const addFields = (response: PlainObject, added: PlainObject): PlainObject => {
  const names = new Set(Object.keys(added).map((name) => name.toLowerCase()))
  const kept = Object.entries(asPlainObject(response.headers)).filter(([name]) => !names.has(name.toLowerCase()))
  return { ...response, headers: { ...Object.fromEntries(kept), ...added } }
}
