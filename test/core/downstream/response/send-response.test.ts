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
  /** Sends chunks to a client through a sink, and returns what the client received. */
  const sendAll = async (chunks: readonly Buffer[], isShared = false): Promise<Buffer> => {
    const port = await serveHttp1((request, response) => {
      const snapshot = { config: { listen: { timeouts: { body: 5000 }, minRate: null } } }
      const activeRequest = { request, response, snapshot, bytesOut: 0 } as unknown as ActiveRequest
      const sink = new ClientSink(activeRequest, { isShared, resume: () => {} } as never)
      response.writeFields(200, '', [])
      for (const chunk of chunks) sink.data(chunk)
      sink.end()
    })
    const response = await fetch(`http://127.0.0.1:${port}/`)
    return Buffer.from(await response.arrayBuffer())
  }

  test('the memory of a large chunk is freed once it has been sent, and the client has all of it', async () => {
    const chunk = Buffer.from(new ArrayBuffer(64 * 1024)).fill('a')
    const expected = Buffer.from(chunk)

    const received = await sendAll([chunk])

    expect(received.equals(expected)).toBe(true)
    expect(chunk.byteLength).toBe(0)
  })

  test('a chunk that others read too keeps its memory', async () => {
    const chunk = Buffer.from(new ArrayBuffer(64 * 1024)).fill('a')

    const received = await sendAll([chunk], true)

    expect(chunk.byteLength).toBe(64 * 1024)
    expect(received.equals(chunk)).toBe(true)
  })

  test('a chunk that shares its memory keeps it', async () => {
    const memory = Buffer.from(new ArrayBuffer(64 * 1024)).fill('a')
    const chunk = memory.subarray(100)

    await sendAll([chunk])

    expect(memory.every((byte) => byte === 0x61)).toBe(true)
    expect(memory.byteLength).toBe(64 * 1024)
  })

  // A stream of HTTP/2 may be cut while its connection goes on: freed memory could go out with other content.
  test('the memory of a chunk that may still be on its way is not freed', () => {
    const chunk = Buffer.from(new ArrayBuffer(64 * 1024))
    const written: ((error?: Error) => void)[] = []
    const response = {
      on: () => {},
      writableLength: 0,
      write: (_: Buffer, onFlushed: () => void) => written.push(onFlushed) > 0,
    }
    const snapshot = { config: { listen: { timeouts: { body: 5000 }, minRate: null } } }
    const sink = new ClientSink(
      { request: {}, response, snapshot, bytesOut: 0 } as unknown as ActiveRequest,
      { isShared: false } as never,
    )
    sink.data(chunk)

    written[0]?.(new Error('cut'))

    expect(chunk.byteLength).toBe(64 * 1024)
  })
})

describe('a response that is relayed', () => {
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
})

describe('the rate of a client', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  const mebibyte = 1024 ** 2

  /** Makes a response whose client takes nothing of it, under a configuration with this rate. */
  const untakenResponse = (
    socket: object,
    minRate: number,
  ): ActiveRequest & { readonly reset: ReturnType<typeof vi.fn> } => {
    const reset = vi.fn()
    const snapshot = { config: { listen: { minRate, timeouts: { body: null } } } }
    const response = { isHeadOfLine: true, on: () => {} }
    const request = { multiplexed: false, socket }
    return { reset, snapshot, response, request, onHeadOfLine: null } as never
  }

  /** Waits for the client of a response to take some of it. */
  const awaitClient = (response: ActiveRequest, forMs: number): void => {
    const monitor = new FlushMonitor(response)
    monitor.start()
    vi.advanceTimersByTime(forMs)
    monitor.stop()
  }

  test.each([
    ['lower', mebibyte, 1024, 0],
    ['higher', 1024, mebibyte, 1],
  ])('a %s rate holds from the next response on, also on a connection that was open', (_, before, after, cuts) => {
    const socket = { bytesWritten: 0, writableLength: 0 }
    const next = untakenResponse(socket, after)

    awaitClient(untakenResponse(socket, before), 0)
    awaitClient(next, 20_000)

    expect(next.reset).toHaveBeenCalledTimes(cuts)
  })

  test('responses of one connection are judged together', () => {
    const socket = { bytesWritten: 0, writableLength: 0 }
    const next = untakenResponse(socket, mebibyte)

    awaitClient(untakenResponse(socket, mebibyte), 9_000)
    awaitClient(next, 10_000)

    expect(next.reset).toHaveBeenCalledTimes(1)
  })
})
