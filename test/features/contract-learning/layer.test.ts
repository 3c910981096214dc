import { expect, test, vi } from 'vitest'
import { bufferRequestBody } from '../../../src/core/exchange/bodies/buffered-bodies.ts'
import { ResponseBodyQueue } from '../../../src/core/exchange/bodies/response-bodies.ts'
import type { RequestBody } from '../../../src/core/exchange/body.ts'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
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

const json = ['Content-Type', 'application/json']

const pendingBytesOf = ({ requests, responses }: CheckQueue): number => requests.used + responses.used

/** A learner that notes what it is shown. */
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

interface Passing {
  readonly status?: number
  readonly fields?: readonly string[]
  readonly answer?: string
  readonly exchange?: Exchange
  /** Called before the response comes. */
  readonly before?: () => void | Promise<void>
  /** Whether the response breaks off. */
  readonly isCut?: boolean
}

/** Lets a request and its response pass through the layer. */
const pass = async ({
  status = 200,
  fields = json,
  answer = '{"a":1}',
  exchange = fakeExchange(),
  before,
  isCut,
}: Passing) => {
  const { requests, responses, learner } = noteObserved()
  const checks = createCheckQueue((error) => {
    throw error
  })
  const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  const handler = contractLearningLayer({ learner, checks, maxBytes: 1000 })(async () => {
    await before?.()
    return { status, reason: '', fields, body }
  })
  const response = await handler(exchange)
  const chunks: Buffer[] = []
  response.body.consume({ data: (chunk) => chunks.push(chunk) > 0, end: () => {}, fail: () => {} })
  if (answer !== '') body.push(Buffer.from(answer))
  if (isCut === true) body.fail(new GatewayError('truncated'))
  else body.end()
  const settled = Promise.withResolvers<void>()
  checks.addFor(null, () => settled.resolve())
  await settled.promise
  return { requests, responses, received: chunks.join(''), pendingBytes: pendingBytesOf(checks) }
}

/** A request body that a client sends while it is read. */
const sentBody = (text: string, length: number | null = Buffer.byteLength(text)): RequestBody & { send(): void } => ({
  ...fakeBody(length),
  replayable: false,
  send() {
    this.onData?.(Buffer.from(text))
    this.onData?.(null)
  },
})

test('a request whose response is 2xx is learnt, and the response', async () => {
  const body = sentBody('{"id":"7"}')
  const exchange = fakeExchange({ operation: 'valuation.score', query: '?x=1', fields: json, body })

  const { requests, responses, received, pendingBytes } = await pass({ exchange, before: () => body.send() })

  expect(requests).toEqual([{ query: '?x=1', fields: json, contentType: 'application/json', body: { id: '7' } }])
  expect(responses).toEqual([{ status: 200, contentType: 'application/json', body: { a: 1 } }])
  expect([received, pendingBytes]).toEqual(['{"a":1}', 0])
})

test.each([199, 304, 400])('a request whose response is %i is not learnt, the response is', async (status) => {
  const body = sentBody('{"id":"7"}')
  const exchange = fakeExchange({ fields: json, body })

  const { requests, responses, pendingBytes } = await pass({ status, exchange, before: () => body.send() })

  expect(requests).toEqual([])
  expect(responses).toMatchObject([{ status }])
  expect(pendingBytes).toBe(0)
})

test('a request that a layer further out has read is learnt', async () => {
  const text = '{"id":"7"}'
  const body = { ...fakeBody(text.length), received: true, read: async () => [Buffer.from(text)] }

  const { requests } = await pass({ exchange: fakeExchange({ fields: json, body }) })

  expect(requests).toMatchObject([{ body: { id: '7' } }])
})

test('a request of which a layer further out has read the beginning is learnt, though all of it has come', async () => {
  const body = { ...chunkedBody('{"id"', ':"7"}'), received: true }
  const exchange = fakeExchange({ fields: json, body })
  await bufferRequestBody(exchange, 4, new FairQuota(usualBodyBytes))

  const { requests } = await pass({
    exchange,
    before: async () => {
      for await (const _ of exchange.body.stream(() => {}));
    },
  })

  expect(requests).toMatchObject([{ contentType: 'application/json', body: { id: '7' } }])
})

test('a request of which the upstream has not read all is not learnt', async () => {
  const body = sentBody('{"id":"7"}')

  const { requests, responses, pendingBytes } = await pass({
    exchange: fakeExchange({ fields: json, body }),
    before: () => body.onData?.(Buffer.from('{"id"')),
  })

  expect([requests, responses.length, pendingBytes]).toEqual([[], 1, 0])
})

test('a response that breaks off is not learnt', async () => {
  const { responses, pendingBytes } = await pass({ isCut: true })

  expect([responses, pendingBytes]).toEqual([[], 0])
})

test('a request that fails is not learnt, and its copy is gone', async () => {
  const { requests, learner } = noteObserved()
  const checks = createCheckQueue(() => {})
  const body = sentBody(JSON.stringify({ id: 'x'.repeat(900) }))
  const handler = contractLearningLayer({ learner, checks, maxBytes: 10_000 })(async () => {
    body.send()
    throw new GatewayError('connect-failed')
  })

  await expect(handler(fakeExchange({ fields: json, body }))).rejects.toThrow(GatewayError)

  expect(pendingBytesOf(checks)).toBe(0)
  expect(requests).toEqual([])
})

test.each([
  ['over the bound', json, JSON.stringify('x'.repeat(2000)), 'application/json'],
  ['compressed', [...json, 'Content-Encoding', 'gzip'], '"x"', 'application/json'],
  ['no JSON', json, '{', 'application/json'],
  ['one that repeats a name', json, '{"a":1,"a":2}', 'application/json'],
  ['of another charset', ['Content-Type', 'application/json; charset=utf-16'], '"x"', 'application/json'],
  ['of another type', ['Content-Type', 'text/plain; name=x'], '"x"', 'text/plain'],
] as const)('a body that is %s is learnt by its type', async (_, fields, text, contentType) => {
  const body = sentBody(text)
  const exchange = fakeExchange({ fields, body })

  const learnt = await pass({ fields, answer: text, exchange, before: () => body.send() })

  expect(learnt.requests).toEqual([{ query: '', fields, contentType, body: undefined }])
  expect(learnt.responses).toEqual([{ status: 200, contentType, body: undefined }])
  expect(learnt.pendingBytes).toBe(0)
})

test('a part of a response is learnt by its type', async () => {
  expect((await pass({ status: 206 })).responses).toEqual([
    { status: 206, contentType: 'application/json', body: undefined },
  ])
})

test('a request without a body has no type, whatever its fields say, and however it is framed', async () => {
  const chunked = sentBody('', null)
  const empty = await pass({
    exchange: fakeExchange({ fields: json, body: chunked }),
    before: () => chunked.onData?.(null),
  })

  for (const { requests } of [await pass({ exchange: fakeExchange({ fields: json }) }), empty])
    expect(requests).toEqual([{ query: '', fields: json, contentType: null, body: undefined }])
})

test('what a layer further out does with the bytes goes on', async () => {
  const body = sentBody('{}')
  const onData = vi.fn()
  body.onData = onData

  await pass({ exchange: fakeExchange({ fields: json, body }), before: () => body.send() })

  expect(onData.mock.calls).toEqual([[Buffer.from('{}')], [null]])
})

test('when too much waits, nothing is learnt, and no byte waits', async () => {
  const { responses, learner } = noteObserved()
  const checks = createCheckQueue(() => {})
  while (checks.addFor(null, () => {}));
  const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  body.push(Buffer.from('{}'))
  body.end()
  const handler = contractLearningLayer({ learner, checks, maxBytes: 1000 })(async () => ({
    status: 200,
    reason: '',
    fields: json,
    body,
  }))

  const response = await handler(fakeExchange())

  expect(response.body.takeBuffered()?.toString()).toBe('{}')
  expect([responses, pendingBytesOf(checks)]).toEqual([[], 0])
})
