import { expect, test, vi } from 'vitest'
import type { RequestBody } from '../../../src/core/exchange/body.ts'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { reportRequestLayer } from '../../../src/features/contract/request-contract.ts'
import { type ResponseLayerOptions, reportResponseLayer } from '../../../src/features/contract/response-contract.ts'
import { fakeBody, fakeExchange, fakeNext } from '../../helpers/exchange.ts'
import { content, json, layerOptions, sentBody } from './layer-parts.ts'

const responses = [{ status: '200', headers: [], content }]
const request = { parameters: [], body: { required: true, content } }

const respond = async (
  options: ResponseLayerOptions,
  chunks: readonly string[] = [],
  { exchange = fakeExchange(), fields = json }: { readonly exchange?: Exchange; readonly fields?: string[] } = {},
) => {
  const body = sentBody(...chunks)
  const handler = reportResponseLayer(responses, options)(async () => ({ status: 200, reason: '', fields, body }))
  const response = await handler(exchange)
  return { body, response, text: () => response.body.takeBuffered()?.toString() }
}

const respondWhole = async (...given: Parameters<typeof respond>): Promise<string | undefined> => {
  const { body, text } = await respond(...given)
  body.end()
  return text()
}

/** Sends a request whose body comes as the layers inside read it. */
const send = (options: ResponseLayerOptions, chunks: readonly (string | null)[], fields = json, contract = request) => {
  const exchange = fakeExchange({ body: fakeBody(null), fields })
  reportRequestLayer(contract, options)(fakeNext())(exchange)
  for (const chunk of chunks) exchange.body.onData?.(chunk === null ? null : Buffer.from(chunk))
  return exchange
}

const totalsOf = ({ driftCounts }: ResponseLayerOptions) =>
  driftCounts.report.totals.map(({ checked, broken, unchecked }) => ({ checked, broken, ...unchecked }))
const usedOf = ({ checks }: ResponseLayerOptions) => [checks.requests.used, checks.responses.used]

const none = { checked: 0, broken: 0, 'too-large': 0, coded: 0, 'not-json': 0, partial: 0, 'too-complex': 0, busy: 0 }
const expectTotals = (options: ResponseLayerOptions, totals: Partial<typeof none>) =>
  vi.waitFor(() => expect(totalsOf(options)).toEqual([{ ...none, ...totals }]))

const sink = { data: () => true, end: () => {}, fail: () => {} }

test('a response is checked after it was handed on, though its exchange never ends: a fetch of the cache', async () => {
  const options = layerOptions()
  const text = await respondWhole(options, ['{"b":', '1}'])

  expect([text, totalsOf(options)]).toEqual(['{"b":1}', []])
  await expectTotals(options, { checked: 1, broken: 1 })
  expect(usedOf(options)).toEqual([0, 0])
})

test('a response that streams is handed on chunk by chunk, before it is complete', async () => {
  const options = layerOptions()
  const { body, response } = await respond(options)
  const chunks: string[] = []
  response.body.consume({ ...sink, data: (chunk) => chunks.push(chunk.toString()) > 0 })

  body.push(Buffer.from('{"a":'))
  expect(chunks).toEqual(['{"a":'])
  body.push(Buffer.from('1}'))
  body.end()

  await expectTotals(options, { checked: 1 })
})

test('a response beyond the bound is not kept, and counts as unchecked', async () => {
  const options = layerOptions()
  const { body, response } = await respond(options)
  response.body.consume(sink)
  for (let i = 0; i < 100; i++) body.push(Buffer.alloc(100, 0x20))

  expect(usedOf(options)).toEqual([0, 0])
  body.end()
  await expectTotals(options, { 'too-large': 1 })
})

test('a response that is discarded, or breaks off, keeps no room and is not counted', async () => {
  const options = layerOptions()
  const discarded = await respond(options, ['{'])
  discarded.response.body.discard()
  const broken = await respond(options)
  broken.response.body.consume(sink)
  broken.body.push(Buffer.from('{'))
  broken.body.fail(new GatewayError('truncated'))

  expect([usedOf(options), totalsOf(options)]).toEqual([[0, 0], []])
})

test('where the process has no room a response is handed on, and counts as unchecked', async () => {
  const options = layerOptions()
  while (options.checks.responses.reserve(1)) options.checks.responses.reserve(1024 ** 2)

  expect(await respondWhole(options, ['{}'])).toBe('{}')
  await expectTotals(options, { busy: 1 })
})

test('messages beyond the sample are forwarded unread', async () => {
  const { body, response } = await respond(layerOptions({ sample: 0 }))

  expect(response.body).toBe(body)
})

test('a request is checked after its exchange has ended', async () => {
  const options = layerOptions()
  const exchange = send(options, ['{"b"', ':1}', null])

  await new Promise(setImmediate)
  expect(totalsOf(options)).toEqual([])
  exchange.finish()
  await expectTotals(options, { checked: 1, broken: 1 })
  expect(usedOf(options)).toEqual([0, 0])
})

test('a request that breaks off is not counted', async () => {
  const options = layerOptions()
  send(options, ['{"b"']).finish()
  send(options, ['{}', null]).finish()

  await expectTotals(options, { checked: 1, broken: 1 })
  expect(usedOf(options)).toEqual([0, 0])
})

test('the audit log, which reads the bytes of a request, reads them still', () => {
  const body: RequestBody = fakeBody(null)
  const onData = vi.fn()
  body.onData = onData
  reportRequestLayer(request, layerOptions())(fakeNext())(fakeExchange({ body, fields: json }))

  body.onData(Buffer.from('{}'))
  body.onData(null)

  expect(onData.mock.calls).toEqual([[Buffer.from('{}')], [null]])
})

test('a client that has its share of the room goes unchecked, and another one does not', async () => {
  const options = layerOptions()
  const share = options.checks.responses.shareOf('127.0.0.1')
  for (let bytes = 1024 ** 2; bytes >= 1; bytes /= 2) while (share.reserve(bytes)) {}
  for (const client of ['127.0.0.1', '127.0.0.2'])
    await respondWhole(options, ['{"a":1}'], { exchange: fakeExchange({ client }) })

  await expectTotals(options, { checked: 1, busy: 1 })
})

test('a request behind a full queue of checks is forwarded unchecked, and keeps no room', () => {
  const options = layerOptions()
  while (options.checks.addFor(null, () => {})) {}
  send(options, ['{"a"', ':1}', null]).finish()

  expect([totalsOf(options), usedOf(options)]).toEqual([[{ ...none, busy: 1 }], [0, 0]])
})

// RFC 9110 §8.3
test('a chunked request that turns out to be empty needs no type, where no body is required', async () => {
  const options = layerOptions()
  const optional = { ...request, body: { ...request.body, required: false } }
  send(options, [null], [], optional).finish()
  send(options, [null], []).finish()
  send(options, ['{}', null], [], optional).finish()

  await expectTotals(options, { checked: 3, broken: 2 })
})

test('a response without content needs no type', async () => {
  const options = layerOptions()
  await respondWhole(options, [], { fields: [] })
  await respondWhole(options, ['{"a":1}'], { fields: [] })

  await expectTotals(options, { checked: 2, broken: 1 })
})
