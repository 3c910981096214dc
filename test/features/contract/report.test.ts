import { expect, test, vi } from 'vitest'
import { ResponseBodyQueue } from '../../../src/core/exchange/bodies/response-bodies.ts'
import type { RequestBody } from '../../../src/core/exchange/body.ts'
import type { Exchange, ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { ResponseContract } from '../../../src/features/contract/check/compiled-contract.ts'
import { createCheckQueue } from '../../../src/features/contract/check-queue.ts'
import { createDriftCounts } from '../../../src/features/contract/drift-counts.ts'
import { reportRequestLayer } from '../../../src/features/contract/request-contract.ts'
import { type ResponseLayerOptions, reportResponseLayer } from '../../../src/features/contract/response-contract.ts'
import { fakeBody, fakeExchange, fakeNext } from '../../helpers/exchange.ts'
import { schemaName, validatorsOf } from './validators.ts'

const json = ['Content-Type', 'application/json']
const content = [{ type: 'application/json', schema: schemaName }]
const responses: readonly ResponseContract[] = [{ status: '200', headers: [], content }]
const request = { parameters: [], body: { required: true, content } }

const layerOptions = (more: Partial<ResponseLayerOptions> = {}): ResponseLayerOptions => ({
  validators: validatorsOf({ type: 'object', required: ['a'] }, {}, ['a']),
  driftCounts: createDriftCounts(''),
  checks: createCheckQueue((error) => {
    throw error
  }),
  maxBytes: 1000,
  refusesUnchecked: false,
  sample: 1,
  clientFields: { requestIdField: null, replaced: new Set(), later: new Set() },
  ...more,
})

/** Lets a response pass through the layer; its body comes from a queue. */
const respond = async (options: ResponseLayerOptions, exchange: Exchange = fakeExchange(), fields = json) => {
  const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  const response: ProxyResponse = { status: 200, reason: '', fields, body }
  const handler = reportResponseLayer(responses, options)(() => Promise.resolve(response))
  return { body, response: await handler(exchange) }
}

const totalsOf = ({ driftCounts }: ResponseLayerOptions) =>
  driftCounts.report.totals.map(({ checked, broken, unchecked }) => ({ checked, broken, ...unchecked }))

const none = { checked: 0, broken: 0, 'too-large': 0, coded: 0, 'not-json': 0, partial: 0, 'too-complex': 0, busy: 0 }

test('a response is checked after it was handed on, though its exchange never ends: a fetch of the cache', async () => {
  const options = layerOptions()
  const { body, response } = await respond(options)
  body.push(Buffer.from('{"b":'))
  body.push(Buffer.from('1}'))
  body.end()

  const whole = response.body.takeBuffered()

  expect([whole?.toString(), totalsOf(options)]).toEqual(['{"b":1}', []])
  await vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, checked: 1, broken: 1 }]))
  expect(options.checks.responses.used).toBe(0)
})

test('a response that streams is handed on chunk by chunk, before it is complete', async () => {
  const options = layerOptions()
  const { body, response } = await respond(options)
  const chunks: string[] = []
  response.body.consume({ data: (chunk) => chunks.push(chunk.toString()) > 0, end: () => {}, fail: () => {} })

  body.push(Buffer.from('{"a":'))
  expect(chunks).toEqual(['{"a":'])
  body.push(Buffer.from('1}'))
  body.end()

  await vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, checked: 1 }]))
})

test('a response beyond the bound is not kept, and counts as unchecked', async () => {
  const options = layerOptions()
  const { body, response } = await respond(options)
  response.body.consume({ data: () => true, end: () => {}, fail: () => {} })
  for (let i = 0; i < 100; i++) body.push(Buffer.alloc(100, 0x20))

  expect(options.checks.responses.used).toBe(0)
  body.end()
  await vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, 'too-large': 1 }]))
})

test('a response that is discarded, or breaks off, keeps no room and is not counted', async () => {
  const options = layerOptions()
  const discarded = await respond(options)
  discarded.body.push(Buffer.from('{'))
  discarded.response.body.discard()
  const broken = await respond(options)
  broken.response.body.consume({ data: () => true, end: () => {}, fail: () => {} })
  broken.body.push(Buffer.from('{'))
  broken.body.fail(new GatewayError('truncated'))

  expect([options.checks.responses.used, totalsOf(options)]).toEqual([0, []])
})

test('where the process has no room a response is handed on, and counts as unchecked', async () => {
  const options = layerOptions()
  while (options.checks.responses.reserve(1)) options.checks.responses.reserve(1024 ** 2)
  const { body, response } = await respond(options)
  body.push(Buffer.from('{}'))
  body.end()

  expect(response.body.takeBuffered()?.toString()).toBe('{}')
  await vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, busy: 1 }]))
})

test('what is not in the sample is passed on as it is', async () => {
  const options = layerOptions({ sample: 0 })
  const { body, response } = await respond(options)

  expect(response.body).toBe(body)
})

/** Sends a request whose body comes as the layers inside read it. */
const send = (options: ResponseLayerOptions, chunks: readonly (Buffer | null)[]): Exchange => {
  const body: RequestBody = fakeBody(null)
  const exchange = fakeExchange({ body, fields: json })
  reportRequestLayer(request, options)(fakeNext())(exchange)
  for (const chunk of chunks) body.onData?.(chunk)
  return exchange
}

test('a request is checked after its exchange has ended', async () => {
  const options = layerOptions()
  const exchange = send(options, [Buffer.from('{"b"'), Buffer.from(':1}'), null])

  await new Promise(setImmediate)
  expect(totalsOf(options)).toEqual([])
  exchange.finish()
  await vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, checked: 1, broken: 1 }]))
  expect(options.checks.requests.used).toBe(0)
})

test('of a request that stops in the middle nothing is said', async () => {
  const options = layerOptions()
  send(options, [Buffer.from('{"b"')]).finish()
  send(options, [Buffer.from('{}'), null]).finish()

  await vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, checked: 1, broken: 1 }]))
  expect(options.checks.requests.used).toBe(0)
})

test('the audit log, which reads the bytes of a request, reads them still', () => {
  const body: RequestBody = fakeBody(null)
  const seen: (string | undefined)[] = []
  body.onData = (chunk) => seen.push(chunk?.toString())
  const exchange = fakeExchange({ body, fields: json })
  reportRequestLayer(request, layerOptions())(fakeNext())(exchange)

  body.onData(Buffer.from('{}'))
  body.onData(null)

  expect(seen).toEqual(['{}', undefined])
})

test('a client that has its share of the room goes unchecked, and another one does not', async () => {
  const options = layerOptions()
  const share = options.checks.responses.shareOf('127.0.0.1')
  for (let bytes = 1024 ** 2; bytes >= 1; bytes /= 2) while (share.reserve(bytes)) {}

  for (const client of ['127.0.0.1', '127.0.0.2']) {
    const { body, response } = await respond(options, fakeExchange({ client }))
    body.push(Buffer.from('{"a":1}'))
    body.end()
    response.body.takeBuffered()
  }

  await vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, checked: 1, busy: 1 }]))
})

test('a request that too many checks wait before goes unchecked, and keeps no room', async () => {
  const options = layerOptions()
  while (options.checks.addFor(null, () => {})) {}

  send(options, [Buffer.from('{"a"'), Buffer.from(':1}'), null]).finish()

  expect(totalsOf(options)).toEqual([{ ...none, busy: 1 }])
  expect(options.checks.requests.used).toBe(0)
})

// RFC 9110 §8.3
test('a chunked request that turns out to be empty needs no type, where no body is required', async () => {
  const options = layerOptions()
  const optional = { ...request, body: { ...request.body, required: false } }
  for (const [contract, end] of [
    [optional, null],
    [request, null],
    [optional, Buffer.from('{}')],
  ] as const) {
    const exchange = fakeExchange({ body: fakeBody(null), fields: [] })
    reportRequestLayer(contract, options)(fakeNext())(exchange)
    for (const chunk of end === null ? [null] : [end, null]) exchange.body.onData?.(chunk)
    exchange.finish()
  }

  await vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, checked: 3, broken: 2 }]))
})

test('a response without content needs no type', async () => {
  const options = layerOptions()
  const { body, response } = await respond(options, fakeExchange(), [])
  body.end()
  response.body.takeBuffered()
  const other = await respond(options, fakeExchange(), [])
  other.body.push(Buffer.from('{"a":1}'))
  other.body.end()
  other.response.body.takeBuffered()

  await vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, checked: 2, broken: 1 }]))
})
