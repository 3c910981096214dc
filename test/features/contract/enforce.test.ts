/** What enforced messages give up when they go no further. */
import { describe, expect, test, vi } from 'vitest'
import { ResponseBodyQueue } from '../../../src/core/exchange/bodies/response-bodies.ts'
import type { ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { HeaderFields } from '../../../src/core/exchange/header-fields.ts'
import type { MediaTypeContract } from '../../../src/features/contract/check/compiled-contract.ts'
import { createCheckQueue } from '../../../src/features/contract/check-queue.ts'
import { createDriftCounts } from '../../../src/features/contract/drift-counts.ts'
import { enforceRequestLayer } from '../../../src/features/contract/request-contract.ts'
import { enforceResponseLayer, type ResponseLayerOptions } from '../../../src/features/contract/response-contract.ts'
import { chunkedBody, fakeExchange, fakeNext, fakeResponse } from '../../helpers/exchange.ts'
import { parameterOf, schemaName, validatorsOf } from './validators.ts'

const json = ['Content-Type', 'application/json']
const content = [{ type: 'application/json', schema: schemaName }]

const options: ResponseLayerOptions = {
  validators: validatorsOf({ type: 'object' }),
  driftCounts: createDriftCounts(''),
  checks: createCheckQueue(() => {}),
  maxBytes: 10,
  refusesUnchecked: false,
  sample: 1,
  clientFields: { requestIdField: null, replaced: new Set(), later: new Set() },
}

test('an upload that is too long to be checked stops when it cannot be forwarded', async () => {
  const body = chunkedBody('{"a":', '"a long text"', '}')
  const refused = new GatewayError('connect-failed')
  const layer = enforceRequestLayer({ parameters: [], body: { required: true, content } }, options)

  await expect(layer(() => Promise.reject(refused))(fakeExchange({ body, fields: json }))).rejects.toBe(refused)

  expect(body.isStopped).toBe(true)
})

test.each([
  ['status that the contract has not', 500, json],
  ['type that the contract has not', 200, ['Content-Type', 'text/html']],
])('a response of a %s is rejected, and its body is not waited for', async (_, status, fields) => {
  const discard = vi.fn()
  const response = { ...fakeResponse(status), fields, body: { ...fakeResponse().body, discard } }
  const layer = enforceResponseLayer([{ status: '200', headers: [], content }], options)

  const onBrokenAnswer = vi.fn()
  const exchange = Object.assign(fakeExchange(), { onBrokenAnswer })

  await expect(layer(() => Promise.resolve(response))(exchange)).rejects.toMatchObject({ kind: 'invalid-response' })

  expect(discard).toHaveBeenCalledTimes(1)
  expect(onBrokenAnswer).toHaveBeenCalledTimes(1)
})

// RFC 9110 §6.4, §8.3: a message without content has no type to state, however it is framed.
describe('a chunked request that turns out to be empty', () => {
  const csv = [{ type: 'text/csv', schema: null }]
  const any = [{ type: '*/*', schema: schemaName }]

  test.each<[string, MediaTypeContract[], boolean, HeaderFields, Partial<ResponseLayerOptions>, string]>([
    ['without a type, where none is required', content, false, [], {}, 'served'],
    ['without a type, where one is required', content, true, [], {}, 'contract-body'],
    ['of a type without a schema, where one is required', csv, true, ['Content-Type', 'text/csv'], {}, 'contract-body'],
    ['of another type', content, false, ['Content-Type', 'text/csv'], {}, 'served'],
    ['that cannot be checked', any, false, ['Content-Type', 'text/csv'], { refusesUnchecked: true }, 'served'],
    ['that says a coding', content, false, [...json, 'Content-Encoding', 'gzip'], { refusesUnchecked: true }, 'served'],
  ])('%s', async (_, types, required, fields, more, expected) => {
    const layer = enforceRequestLayer({ parameters: [], body: { required, content: types } }, { ...options, ...more })
    const exchange = fakeExchange({ body: chunkedBody(), fields })

    const outcome = await layer(fakeNext())(exchange).then(
      () => 'served',
      (error: GatewayError) => error.reason,
    )

    expect(outcome).toBe(expected)
  })

  test('is not waited for where a parameter breaks the contract', async () => {
    const parameters = [parameterOf({ in: 'header', name: 'x-mode', required: true, style: 'simple' })]
    const body = { ...chunkedBody(), stream: vi.fn() }
    const layer = enforceRequestLayer({ parameters, body: { required: true, content } }, options)

    await expect(layer(fakeNext())(fakeExchange({ body }))).rejects.toMatchObject({ reason: 'contract-parameters' })

    expect(body.stream).not.toHaveBeenCalled()
  })
})

test('a chunked request that has content and no type is rejected at its first byte', async () => {
  const body = chunkedBody('{', '"a":1}')
  const layer = enforceRequestLayer({ parameters: [], body: { required: false, content } }, options)

  await expect(layer(fakeNext())(fakeExchange({ body }))).rejects.toMatchObject({ kind: 'unsupported-media-type' })

  expect(body.isStopped).toBe(true)
})

test.each([
  ['kept without content', [], 200],
  ['rejected with some', ['{', '}'], 502],
])('a response without a type is %s', async (_, chunks, status) => {
  const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  const response: ProxyResponse = { status: 200, reason: '', fields: [], body }
  const layer = enforceResponseLayer([{ status: '200', headers: [], content }], options)
  const outcome = layer(() => Promise.resolve(response))(fakeExchange())
  for (const chunk of chunks) body.push(Buffer.from(chunk))
  body.end()

  expect(await outcome.catch((error: GatewayError) => error)).toMatchObject({ status })
})
