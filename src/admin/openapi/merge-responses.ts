import type { ContractSource } from './contract-source.ts'
import { asNode, type OpenApiNode, withoutMembers } from './openapi-node.ts'

/** Responses by status, by class of statuses (`4XX`), or `default`. */
type Responses = Readonly<Record<string, OpenApiNode>>

/**
 * Merges the responses that a contract states with the gateway's own. `relayed` are the header fields that the gateway
 * adds to what an upstream responds. A status that both have gets the media types and the header fields of both. A
 * status that only the gateway has keeps what the contract says of its class or of any status: an exact status would
 * hide it otherwise (OpenAPI 3.1 §4.8.16).
 */
export const mergeResponses = (
  contractResponses: OpenApiNode,
  own: Responses,
  relayed: OpenApiNode,
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

/** Merges two responses with one status. A field that only one of them has is not required any more. */
const mergeResponse = (one: OpenApiNode, other: OpenApiNode, resolve: ContractSource['resolve']): OpenApiNode => {
  const optional = Object.entries(asNode(one.headers)).map(([name, header]) => [
    name,
    withoutMembers(resolve(header) ?? asNode(header), ['required']),
  ])
  return {
    ...addFields({ ...one, headers: Object.fromEntries(optional) }, asNode(other.headers)),
    description: [one.description, other.description].filter((text) => typeof text === 'string').join('\n\n'),
    content: mergeContent(asNode(one.content), asNode(other.content)),
  }
}

const mergeContent = (one: OpenApiNode, other: OpenApiNode): OpenApiNode => {
  const both = Object.keys(one).filter((type) => type in other)
  const merged = both.map((type) => {
    const [first, second] = [asNode(one[type]), asNode(other[type])]
    return [type, { ...first, schema: { anyOf: [first.schema ?? {}, second.schema ?? {}] } }]
  })
  return { ...one, ...other, ...Object.fromEntries(merged) }
}

/** Adds header fields to a response. They replace those with the same name: names compare case-insensitively. */
const addFields = (response: OpenApiNode, added: OpenApiNode): OpenApiNode => {
  const names = new Set(Object.keys(added).map((name) => name.toLowerCase()))
  const kept = Object.entries(asNode(response.headers)).filter(([name]) => !names.has(name.toLowerCase()))
  return { ...response, headers: { ...Object.fromEntries(kept), ...added } }
}
