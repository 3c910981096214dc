import { Duplex } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Http1Response } from '../../../../src/core/downstream/http1/http1-response.ts'
import type { ActiveRequest } from '../../../../src/core/downstream/request/active-request.ts'
import { relayResponse } from '../../../../src/core/downstream/response/send-response.ts'
import { ObservedResponseBody, ResponseBodyQueue } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

/** A response on its way, as a layer observes it that must know when it is over; and the attempt that is aborted. */
const observed = () => {
  const ends: string[] = []
  const queue = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  queue.push(Buffer.from('the beginning'))
  const body = new ObservedResponseBody(queue, {
    onChunk: () => {},
    onWhole: () => {},
    onEnd: () => ends.push('whole'),
    onCut: () => ends.push('cut'),
  })
  const response: ProxyResponse = { status: 999, reason: '', fields: [], body }
  return { response, ends, abort: (reason: GatewayError) => queue.fail(reason) }
}

/** A request whose response is written as `response` has it. */
const activeRequest = (response: object, abort: (reason: GatewayError) => void = () => {}): ActiveRequest =>
  ({
    response,
    abort,
    request: { method: 'GET', complete: true },
    snapshot: { config: { requestId: { header: null }, listen: { minRate: null } } },
    head: { interactionId: null },
    body: null,
    exchange: null,
    isDraining: false,
  }) as unknown as ActiveRequest

/** A response of HTTP/1 whose client takes everything; `writes` are the pieces in which the system is given it. */
const http1Response = () => {
  const writes: string[] = []
  const write = (chunk: Buffer, _encoding: string, done: () => void): void => {
    writes.push(chunk.toString('latin1'))
    done()
  }
  const writev = (pieces: { chunk: Buffer }[], done: () => void): void =>
    write(Buffer.concat(pieces.map(({ chunk }) => chunk)), '', done)
  const socket = new Duplex({ read: () => {}, write, writev })
  const request = { method: 'GET', httpVersion: '1.1', isPersistent: true, complete: true, discardUnasked: () => {} }
  const connection = { socket, keepAliveMs: 1000, isHeadOfLine: () => true, onResponseSent: () => {} }
  return { response: new Http1Response(request as never, connection as never), writes }
}

/** A response of an upstream whose body comes as a test pushes it. */
const streamed = () => {
  const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  const proxyResponse: ProxyResponse = { status: 200, reason: '', fields: [], body }
  return { body, proxyResponse }
}

/** Relays it to the end of the turn. */
const relay = async (response: Http1Response, proxyResponse: ProxyResponse): Promise<void> => {
  relayResponse(activeRequest(response), fakeExchange(), proxyResponse, '1.1 gateway')
  await new Promise((resolve) => setImmediate(resolve))
}

const shorten = (text: string): string => text.replace(/^HTTP\/1\.1 200 OK\r\n[\s\S]*?\r\n\r\n/, 'the head, ')

test('a head goes out before the first byte of the body has come', async () => {
  const { response, writes } = http1Response()
  const { body, proxyResponse } = streamed()

  await relay(response, proxyResponse)
  const before = [...writes]
  body.push(Buffer.from('late'))

  expect(before.map(shorten)).toEqual(['the head, '])
  expect(writes.slice(1)).toEqual(['4\r\nlate\r\n'])
})

test('a body in chunks that has come with its head goes out with it, in one write', async () => {
  const { response, writes } = http1Response()
  const { body, proxyResponse } = streamed()
  body.push(Buffer.from('ok'))
  body.end()

  await relay(response, proxyResponse)

  expect(writes.map(shorten)).toEqual(['the head, 2\r\nok\r\n0\r\n\r\n'])
})

test.each([
  ['has come', true],
  ['comes in the next turn', false],
])('the beginning of a body that %s goes out with the head, in one write', async (_, hasCome) => {
  const { response, writes } = http1Response()
  const { body, proxyResponse } = streamed()

  if (hasCome) body.push(Buffer.from('ok'))
  const relayed = relay(response, proxyResponse)
  if (!hasCome) body.push(Buffer.from('ok'))
  await relayed

  expect(writes.map(shorten)).toEqual(['the head, 2\r\nok\r\n'])
})

test('nothing is left to do at the end of the turn where the body has taken the head along', () => {
  const schedule = vi.spyOn(globalThis, 'setImmediate')
  onTestFinished(() => schedule.mockRestore())
  const { response, writes } = http1Response()
  const { body, proxyResponse } = streamed()
  body.push(Buffer.from('ok'))

  relayResponse(activeRequest(response), fakeExchange(), proxyResponse, '1.1 gateway')

  expect(writes.map(shorten)).toEqual(['the head, 2\r\nok\r\n'])
  expect(schedule).not.toHaveBeenCalled()
})

test('layers are told that a response is over whose client left before any of it was written', () => {
  const { response, ends, abort } = observed()
  abort(new GatewayError('client-gone'))

  relayResponse(activeRequest({ destroyed: true }), fakeExchange(), response, '1.1 gateway')

  expect(ends).toEqual(['cut'])
})

test('layers are told that a response is over whose head cannot be written', () => {
  const { response, ends, abort } = observed()
  const statuses: number[] = []
  const written = {
    destroyed: false,
    headersSent: false,
    isHeadOfLine: true,
    isFlushed: true,
    writeFields: (status: number) => {
      if (status > 599) throw new RangeError('HTTP/2 has no such status')
      statuses.push(status)
    },
    end: () => {},
  }

  relayResponse(activeRequest(written, abort), fakeExchange(), response, '1.1 gateway')

  expect([statuses, ends]).toEqual([[502], ['cut']])
})
