import { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Http1Response } from '../../../../src/core/downstream/http1/http1-response.ts'
import type { ActiveRequest } from '../../../../src/core/downstream/request/active-request.ts'
import { ClientSink, FlushMonitor, relayResponse } from '../../../../src/core/downstream/response/send-response.ts'
import { ObservedResponseBody, ResponseBodyQueue } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { serveHttp1 } from '../../../helpers/http1-server.ts'

describe('what is sent to a client', () => {
  const snapshot = { config: { listen: { timeouts: { body: 5000 }, minRate: null } } }
  const memoryOf = () => Buffer.from(new ArrayBuffer(64 * 1024)).fill('a')

  /** Sends a chunk to a client through a sink, and returns whether the client received exactly that chunk. */
  const send = async (chunk: Buffer, isShared = false): Promise<boolean> => {
    const expected = Buffer.from(chunk)
    const port = await serveHttp1((request, response) => {
      const activeRequest = { request, response, snapshot, bytesOut: 0 } as unknown as ActiveRequest
      const sink = new ClientSink(activeRequest, { isShared, resume: () => {} } as never)
      response.writeFields(200, '', [])
      sink.data(chunk)
      sink.end()
    })
    const response = await fetch(`http://127.0.0.1:${port}/`)
    return Buffer.from(await response.arrayBuffer()).equals(expected)
  }

  test.each([
    ['of a large chunk is freed once it has been sent', 0, false, false],
    ['of a chunk that others read too is kept', 0, true, true],
    ['of a chunk that shares it is kept', 100, false, true],
  ])('the memory %s, and the client has all of it', async (_, from, isShared, isKept) => {
    const memory = memoryOf()

    expect(await send(memory.subarray(from), isShared)).toBe(true)
    expect(memory.byteLength).toBe(isKept ? 64 * 1024 : 0)
    expect(isKept && memory.every((byte) => byte === 0x61)).toBe(isKept)
  })

  // A stream of HTTP/2 may be cut while its connection stays open: freed memory could go out with other content.
  test('the memory of a chunk that may still be on its way is not freed', () => {
    const chunk = memoryOf()
    const write = vi.fn((_: Buffer, _onFlushed: (error?: Error) => void) => true)
    const response = { on: () => {}, writableLength: 0, write }
    const activeRequest = { request: {}, response, snapshot, bytesOut: 0 } as unknown as ActiveRequest
    new ClientSink(activeRequest, { isShared: false } as never).data(chunk)

    write.mock.calls[0]?.[1](new Error('cut'))

    expect(chunk.byteLength).toBe(64 * 1024)
  })
})

describe('a response that is relayed', () => {
  /** A response on its way, observed by a layer that must learn its end, and the attempt that is aborted. */
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
  const activeRequest = (response: object, abort: (reason: GatewayError) => void = () => {}): ActiveRequest => {
    const snapshot = { config: { requestId: { header: null }, listen: { minRate: null } } }
    const request = { method: 'GET', complete: true }
    const nothing = { head: { interactionId: null }, body: null, exchange: null, isDraining: false }
    return { response, abort, request, snapshot, ...nothing } as unknown as ActiveRequest
  }

  /** A response of HTTP/1 whose client takes everything; `writes`: the pieces that the system gets. */
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

  /** An upstream's response whose body the test pushes, and the function that relays it. */
  const streamed = () => {
    const { response, writes } = http1Response()
    const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
    const proxyResponse: ProxyResponse = { status: 200, reason: '', fields: [], body }
    const relay = () => relayResponse(activeRequest(response), fakeExchange(), proxyResponse, '1.1 gateway')
    return { body, writes, relay }
  }

  const endOfTurn = () => new Promise((resolve) => setImmediate(resolve))

  const shorten = (text: string): string => text.replace(/^HTTP\/1\.1 200 OK\r\n[\s\S]*?\r\n\r\n/, 'the head, ')

  test('a head goes out before the first byte of the body has come', async () => {
    const { body, writes, relay } = streamed()

    relay()
    await endOfTurn()
    const before = [...writes]
    body.push(Buffer.from('late'))

    expect(before.map(shorten)).toEqual(['the head, '])
    expect(writes.slice(1)).toEqual(['4\r\nlate\r\n'])
  })

  type Streamed = ReturnType<typeof streamed>

  test.each<[string, (streamed: Streamed) => void, string]>([
    [
      'has come to its end',
      ({ body, relay }) => {
        body.push(Buffer.from('ok'))
        body.end()
        relay()
      },
      'the head, 2\r\nok\r\n0\r\n\r\n',
    ],
    [
      'comes in the next turn',
      ({ body, relay }) => {
        relay()
        body.push(Buffer.from('ok'))
      },
      'the head, 2\r\nok\r\n',
    ],
  ])('a body in chunks that %s goes out with its head, in one write', async (_, act, expected) => {
    const response = streamed()

    act(response)
    await endOfTurn()

    expect(response.writes.map(shorten)).toEqual([expected])
  })

  test('a body that has come takes the head along, and leaves nothing to do at the end of the turn', () => {
    const schedule = vi.spyOn(globalThis, 'setImmediate')
    onTestFinished(() => schedule.mockRestore())
    const { body, writes, relay } = streamed()
    body.push(Buffer.from('ok'))

    relay()

    expect(writes.map(shorten)).toEqual(['the head, 2\r\nok\r\n'])
    expect(schedule).not.toHaveBeenCalled()
  })

  test('layers learn that the response is over when the client has left before any of it was written', () => {
    const { response, ends, abort } = observed()
    abort(new GatewayError('client-gone'))

    relayResponse(activeRequest({ destroyed: true }), fakeExchange(), response, '1.1 gateway')

    expect(ends).toEqual(['cut'])
  })

  test('layers learn that the response is over when its head cannot be written', () => {
    const { response, ends, abort } = observed()
    const statuses: number[] = []
    const writeFields = (status: number) => {
      if (status > 599) throw new RangeError('HTTP/2 has no such status')
      statuses.push(status)
    }
    const states = { destroyed: false, headersSent: false, isHeadOfLine: true, isFlushed: true }
    const written = { ...states, writeFields, end: () => {} }

    relayResponse(activeRequest(written, abort), fakeExchange(), response, '1.1 gateway')

    expect([statuses, ends]).toEqual([[502], ['cut']])
  })
})

describe('the rate of a client', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const mebibyte = 1024 ** 2

  /**
   * Two responses of one connection whose client takes nothing, each for less time than its rate allows; returns how
   * often the second is cut.
   */
  const cuts = (...responses: readonly (readonly [minRate: number, forMs: number])[]): number => {
    const socket = { bytesWritten: 0, writableLength: 0 }
    const reset = vi.fn()
    for (const [minRate, forMs] of responses) {
      const snapshot = { config: { listen: { minRate, timeouts: { body: null } } } }
      const response = { isHeadOfLine: true, on: () => {} }
      const request = { multiplexed: false, socket }
      const monitor = new FlushMonitor({ reset, snapshot, response, request, onHeadOfLine: null } as never)
      monitor.start()
      vi.advanceTimersByTime(forMs)
      monitor.stop()
    }
    return reset.mock.calls.length
  }

  test('a changed minimum rate holds from the next response on, even on an open connection', () => {
    expect(cuts([mebibyte, 0], [1024, 20_000])).toBe(0)
    expect(cuts([1024, 0], [mebibyte, 20_000])).toBe(1)
  })

  test('the minimum rate is that of all responses of one connection together', () => {
    expect(cuts([mebibyte, 9_000], [mebibyte, 10_000])).toBe(1)
  })
})
