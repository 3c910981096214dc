/** What enforced messages give up when they go no further. */
import { describe, expect, test, vi } from 'vitest'
import type { RequestBody } from '../../../src/core/exchange/body.ts'
import type { Layer } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { HeaderFields } from '../../../src/core/exchange/header-fields.ts'
import type { MediaTypeContract } from '../../../src/features/contract/check/compiled-contract.ts'
import { enforceRequestLayer } from '../../../src/features/contract/request-contract.ts'
import { enforceResponseLayer, type ResponseLayerOptions } from '../../../src/features/contract/response-contract.ts'
import { chunkedBody, fakeExchange, fakeNext, fakeResponse } from '../../helpers/exchange.ts'
import { content, json, layerOptions, sentBody } from './layer-parts.ts'
import { parameterOf, schemaName } from './validators.ts'

const required = { parameters: [], body: { required: true, content } }
const responses = [{ status: '200', headers: [], content }]

test('an upload that is too long to be checked stops when it cannot be forwarded', async () => {
  const body = chunkedBody('{"a":', '"a long text"', '}')
  const rejected = new GatewayError('connect-failed')
  const layer = enforceRequestLayer(required, layerOptions())
  await expect(layer(() => Promise.reject(rejected))(fakeExchange({ body, fields: json }))).rejects.toBe(rejected)

  expect(body.isStopped).toBe(true)
})

/** Sends a request; resolves to the reason why it is rejected. */
const outcomeOf = (layer: Layer, body: RequestBody, fields: HeaderFields) => {
  const served = layer(fakeNext())(fakeExchange({ body, fields: [...fields] })).then(() => 'served')
  return served.catch(({ reason }: GatewayError) => reason)
}

test.each([
  ['of exactly so many bytes is checked', '{"b":1   }', 'contract-body'],
  ['of one byte more passes unchecked', '{"b":1    }', 'served'],
])('a body %s', async (_, text, expected) => {
  expect(await outcomeOf(enforceRequestLayer(required, layerOptions()), chunkedBody(text), json)).toBe(expected)
})

test.each([
  ['status that the contract has not', 500, json],
  ['type that the contract has not', 200, ['Content-Type', 'text/html']],
])('a response of a %s is rejected, and its body is not waited for', async (_, status, fields) => {
  const [discard, onBrokenResponse] = [vi.fn(), vi.fn()]
  const response = { ...fakeResponse(status), fields, body: { ...fakeResponse().body, discard } }
  const exchange = Object.assign(fakeExchange(), { onBrokenResponse })
  const handler = enforceResponseLayer(responses, layerOptions())(() => Promise.resolve(response))
  await expect(handler(exchange)).rejects.toMatchObject({ kind: 'invalid-response' })

  for (const each of [discard, onBrokenResponse]) expect(each).toHaveBeenCalledTimes(1)
})

// RFC 9110 §6.4, §8.3: a message without content has no type to state, however it is framed.
describe('a chunked request that turns out to be empty', () => {
  const csv = [{ type: 'text/csv', schema: null }]
  const any = [{ type: '*/*', schema: schemaName }]
  const ofCsv = ['Content-Type', 'text/csv']
  const rejecting = { rejectsUnchecked: true }

  test.each<[string, MediaTypeContract[], boolean, HeaderFields, Partial<ResponseLayerOptions>, string]>([
    ['without a type, where none is required', content, false, [], {}, 'served'],
    ['without a type, where one is required', content, true, [], {}, 'contract-body'],
    ['of a type without a schema, where one is required', csv, true, ofCsv, {}, 'contract-body'],
    ['of another type', content, false, ofCsv, {}, 'served'],
    ['that cannot be checked', any, false, ofCsv, rejecting, 'served'],
    ['that says a coding', content, false, [...json, 'Content-Encoding', 'gzip'], rejecting, 'served'],
  ])('%s', async (_, types, required, fields, more, expected) => {
    const layer = enforceRequestLayer({ parameters: [], body: { required, content: types } }, layerOptions(more))

    expect(await outcomeOf(layer, chunkedBody(), fields)).toBe(expected)
  })

  test('the body of a chunked request is not awaited when a parameter breaks the contract', async () => {
    const parameters = [parameterOf({ in: 'header', name: 'x-mode', required: true, style: 'simple' })]
    const body = { ...chunkedBody(), stream: vi.fn() }
    const layer = enforceRequestLayer({ ...required, parameters }, layerOptions())
    await expect(layer(fakeNext())(fakeExchange({ body }))).rejects.toMatchObject({ reason: 'contract-parameters' })

    expect(body.stream).not.toHaveBeenCalled()
  })
})

test('a chunked request that has content and no type is rejected at its first byte', async () => {
  const body = chunkedBody('{', '"a":1}')
  const layer = enforceRequestLayer({ parameters: [], body: { required: false, content } }, layerOptions())
  await expect(layer(fakeNext())(fakeExchange({ body }))).rejects.toMatchObject({ kind: 'unsupported-media-type' })

  expect(body.isStopped).toBe(true)
})

test.each([
  ['kept without content', [], 200],
  ['rejected with some', ['{', '}'], 502],
])('a response without a type is %s', async (_, chunks, status) => {
  const body = sentBody(...chunks)
  body.end()
  const response = { status: 200, reason: '', fields: [], body }
  const outcome = enforceResponseLayer(responses, layerOptions())(() => Promise.resolve(response))(fakeExchange())

  expect(await outcome.catch((error: GatewayError) => error)).toMatchObject({ status })
})
