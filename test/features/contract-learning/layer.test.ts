import { expect, test, vi } from 'vitest'
import { bufferRequestBody } from '../../../src/core/exchange/bodies/buffered-bodies.ts'
import type { RequestBody } from '../../../src/core/exchange/body.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { FairQuota, usualBodyBytes } from '../../../src/core/lib/fair-quota.ts'
import { type CheckQueue, createCheckQueue } from '../../../src/features/contract/check-queue.ts'
import { contractLearningLayer } from '../../../src/features/contract-learning/layer.ts'
import type {
  Learner,
  ObservedRequest,
  ObservedResponse,
} from '../../../src/features/contract-learning/learn/learner.ts'
import { chunkedBody, fakeBody, fakeExchange } from '../../helpers/exchange.ts'
import { json, sentBody as sentResponse } from '../contract/layer-parts.ts'

const pendingBytesOf = ({ requests, responses }: CheckQueue): number => requests.used + responses.used

const noteObserved = () => {
  const requests: ObservedRequest[] = []
  const responses: ObservedResponse[] = []
  const learner: Learner = {
    observeRequest: (_, request) => void requests.push(request),
    observeResponse: (_, response) => void responses.push(response),
    keepEnums: () => {},
    adopt: () => {},
    report: { operations: new Map() },
  }
  return { requests, responses, learner }
}

/** A request body that a client sends while it is read. */
const sentBody = (text: string, length: number | null = Buffer.byteLength(text)): RequestBody & { send(): void } => ({
  ...fakeBody(length),
  replayable: false,
  send() {
    if (text !== '') this.onData?.(Buffer.from(text))
    this.onData?.(null)
  },
})

interface Passing {
  readonly status?: number
  readonly fields?: readonly string[]
  readonly responseText?: string
  readonly body?: RequestBody & { send?(): void }
  readonly query?: string
  /** Called before the response comes, in place of sending the body. */
  readonly before?: (body: RequestBody) => void | Promise<void>
  readonly isCut?: boolean
}

const pass = async ({ status = 200, fields = json, responseText = '{"a":1}', query = '', ...more }: Passing) => {
  const { requests, responses, learner } = noteObserved()
  const checks = createCheckQueue((error) => {
    throw error
  })
  const body = sentResponse()
  const exchange = fakeExchange({ fields, query, ...(more.body === undefined ? {} : { body: more.body }) })
  const handler = contractLearningLayer({ learner, checks, maxBytes: 1000 })(async () => {
    if (more.before === undefined) more.body?.send?.()
    else await more.before(exchange.body)
    return { status, reason: '', fields, body }
  })
  const response = await handler(exchange)
  const chunks: Buffer[] = []
  response.body.consume({ data: (chunk) => chunks.push(chunk) > 0, end: () => {}, fail: () => {} })
  body.push(Buffer.from(responseText))
  if (more.isCut === true) body.fail(new GatewayError('truncated'))
  else body.end()
  const settled = Promise.withResolvers<void>()
  checks.addFor(null, () => settled.resolve())
  await settled.promise
  expect(pendingBytesOf(checks)).toBe(0)
  return { requests, responses, received: chunks.join('') }
}

const type = 'application/json'
const id7 = '{"id":"7"}'
const learnedId7 = { query: '', fields: json, contentType: type, body: { id: '7' } }

test('a request whose response is 2xx is learned, and the response', async () => {
  expect(await pass({ query: '?x=1', body: sentBody(id7) })).toEqual({
    requests: [{ ...learnedId7, query: '?x=1' }],
    responses: [{ status: 200, contentType: type, body: { a: 1 } }],
    received: '{"a":1}',
  })
})

test.each([199, 304, 400])('a request whose response is %i is not learned, the response is', async (status) => {
  expect(await pass({ status, body: sentBody(id7) })).toMatchObject({ requests: [], responses: [{ status }] })
})

test('a request that a layer further out has read is learned, whole or its beginning', async () => {
  const read = { ...fakeBody(id7.length), received: true, read: async () => [Buffer.from(id7)] }
  expect((await pass({ body: read })).requests).toEqual([learnedId7])

  const begun = fakeExchange({ fields: json, body: { ...chunkedBody('{"id"', ':"7"}'), received: true } })
  await bufferRequestBody(begun, 4, new FairQuota(usualBodyBytes))
  const readRest = async (body: RequestBody) => {
    for await (const _ of body.stream(() => {}));
  }
  expect((await pass({ body: begun.body, before: readRest })).requests).toEqual([learnedId7])
})

test('a request of which the upstream has not read all is not learned', async () => {
  const before = (body: RequestBody) => body.onData?.(Buffer.from('{"id"'))

  expect(await pass({ body: sentBody(id7), before })).toMatchObject({ requests: [], responses: [{}] })
})

test('a response that breaks off is not learned', async () => {
  expect((await pass({ isCut: true })).responses).toEqual([])
})

test('a request that fails is not learned, and its copy is gone', async () => {
  const { requests, learner } = noteObserved()
  const checks = createCheckQueue(() => {})
  const body = sentBody(JSON.stringify({ id: 'x'.repeat(900) }))
  const handler = contractLearningLayer({ learner, checks, maxBytes: 10_000 })(async () => {
    body.send()
    throw new GatewayError('connect-failed')
  })

  await expect(handler(fakeExchange({ fields: json, body }))).rejects.toThrow(GatewayError)

  expect([requests, pendingBytesOf(checks)]).toEqual([[], 0])
})

test.each([
  ['over the bound', json, JSON.stringify('x'.repeat(2000)), type],
  ['compressed', [...json, 'Content-Encoding', 'gzip'], '"x"', type],
  ['no JSON', json, '{', type],
  ['one that repeats a name', json, '{"a":1,"a":2}', type],
  ['of another charset', ['Content-Type', 'application/json; charset=utf-16'], '"x"', type],
  ['of another type', ['Content-Type', 'text/plain; name=x'], '"x"', 'text/plain'],
] as const)('a body that is %s is learned by its type', async (_, fields, text, contentType) => {
  expect(await pass({ fields, responseText: text, body: sentBody(text) })).toMatchObject({
    requests: [{ query: '', fields, contentType, body: undefined }],
    responses: [{ status: 200, contentType, body: undefined }],
  })
})

test('a part of a response is learned by its type', async () => {
  expect((await pass({ status: 206 })).responses).toEqual([{ status: 206, contentType: type, body: undefined }])
})

test.each([
  ['there is none', fakeBody()],
  ['it is chunked, and empty', sentBody('', null)],
])('a request without a body has no type, whatever its fields say: %s', async (_, body) => {
  expect((await pass({ body })).requests).toEqual([{ ...learnedId7, contentType: null, body: undefined }])
})

test('outer layers still read the bytes of a learned request', async () => {
  const onData = vi.fn()
  await pass({ body: Object.assign(sentBody('{}'), { onData }) })

  expect(onData.mock.calls).toEqual([[Buffer.from('{}')], [null]])
})

test('with a full queue nothing is learned, and no byte waits', async () => {
  const { responses, learner } = noteObserved()
  const checks = createCheckQueue(() => {})
  while (checks.addFor(null, () => {}));
  const body = sentResponse('{}')
  body.end()
  const proxied = { status: 200, reason: '', fields: json, body }

  const response = await contractLearningLayer({ learner, checks, maxBytes: 1000 })(async () => proxied)(fakeExchange())

  expect(response.body.takeBuffered()?.toString()).toBe('{}')
  expect([responses, pendingBytesOf(checks)]).toEqual([[], 0])
})
