import { Duplex } from 'node:stream'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Http1Connection } from '../../../../src/core/downstream/http1/http1-connection.ts'
import { Http1Request } from '../../../../src/core/downstream/http1/http1-request.ts'
import type { Http1Response } from '../../../../src/core/downstream/http1/http1-response.ts'
import { createListenerConfigGetter } from '../../../../src/core/downstream/listener/listener-config.ts'
import type { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { testConfig } from '../../../helpers/gateway.ts'
import { bareGet } from '../../../helpers/wire.ts'

describe('connections', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
  })

  const respond = (response: Http1Response): void => {
    response.writeFields(200, '', ['Content-Length', '1000'])
    response.end(Buffer.alloc(1000))
  }

  /** Opens a connection whose client takes nothing before `take` is called. */
  const openConnection = (onRequest = respond) => {
    const untaken: (() => void)[] = []
    const write = (_chunk: unknown, _encoding: unknown, callback: () => void): void => void untaken.push(callback)
    const duplex = new Duplex({ read: () => {}, write, writableHighWaterMark: 1000 })
    const socket = Object.assign(duplex, {
      remoteAddress: '127.0.0.1',
      bytesRead: 1,
      destroySoon: () => duplex.destroy(),
    })
    const failures: (string | null)[] = []
    const responses: Http1Response[] = []
    const config = testConfig({ listen: { timeouts: { headers: '1s' } } })
    new Http1Connection(socket as never, {
      getListenerConfig: createListenerConfigGetter({ value: { config } } as never),
      clientErrors: {
        onMalformed: (_connection: unknown, _socket: unknown, { reason }: GatewayError) => void failures.push(reason),
      } as never,
      onRequest: (_, response) => {
        responses.push(response)
        onRequest(response)
      },
      isClosing: false,
    })
    const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
    const receive = (text: string): Promise<void> => {
      socket.push(text)
      return settled()
    }
    const take = async (): Promise<void> => {
      for (let next = untaken.shift(); next !== undefined; next = untaken.shift()) {
        next()
        await settled()
      }
    }
    return { failures, socket, responses, receive, take }
  }

  const get = bareGet()

  test('the timeout of a head runs while its client is read, and rests while responses wait for the client', async () => {
    const { receive, take, failures } = openConnection()

    await receive(`${get}GET /mar`)
    vi.advanceTimersByTime(5000)
    expect(failures).toEqual([])

    await take()
    vi.advanceTimersByTime(990)
    expect(failures).toEqual([])
    vi.advanceTimersByTime(20)
    expect(failures).toEqual(['head-too-slow'])
  })

  test('a client is read again once the response that it held up is cut, so that its end is noticed', async () => {
    const { receive, take, socket, responses } = openConnection(() => {})
    await receive(get)
    const [first] = responses
    await receive(`${get}GET /mar`)
    const [, second] = responses
    second?.writeFields(200, '', ['Content-Length', '2000'])
    second?.write(Buffer.alloc(1000))
    await receive(`ket/insights HTTP/1.1\r\nHost: a\r\n\r\n`)
    const before = socket.isPaused()

    second?.reset()
    first?.writeFields(204, '', [])
    first?.end()
    await take()

    expect([before, socket.isPaused(), socket.writableEnded]).toEqual([true, false, true])
  })
})

describe('bodies of requests', () => {
  const KiB = 1024

  /** Creates a POST whose connection notes when it is held back; `collect` reads its body, whose end is `null`. */
  const createRequest = () => {
    const flow = { isPaused: false }
    const hold = (isPaused: boolean) => () => void Object.assign(flow, { isPaused })
    const message = { method: 'POST', target: '/', version: '1.1', fields: [], length: null, isPersistent: true }
    const request = new Http1Request(message, null as never, { pause: hold(true), resume: hold(false) })
    const receive = (...chunks: readonly (string | null)[]): void => {
      for (const chunk of chunks) request.receive(chunk === null ? null : Buffer.from(chunk))
    }
    const collect = (): (string | null)[] => {
      const chunks: (string | null)[] = []
      request.consume((chunk) => void chunks.push(chunk === null ? null : String(chunk)))
      return chunks
    }
    return { request, flow, receive, collect }
  }

  test('bytes of a body that come before they are requested are held, and handed on first', () => {
    const { receive, collect } = createRequest()

    receive('a')
    const chunks = collect()
    receive('b', null)

    expect(chunks).toEqual(['a', 'b', null])
  })

  test('a client is held back after 64 KiB of a body that nobody reads', () => {
    const { request, flow } = createRequest()

    request.receive(Buffer.alloc(63 * KiB))
    const before = flow.isPaused
    request.receive(Buffer.alloc(KiB))

    expect([before, flow.isPaused]).toEqual([false, true])
  })

  test('a consumer that pauses gets nothing more, then the rest in order, and the connection reads on at the end', () => {
    const { request, flow, receive, collect } = createRequest()
    const chunks = collect()

    request.pause()
    const held = flow.isPaused
    receive('a', null)
    const during = [...chunks]
    const read = flow.isPaused
    request.resume()

    expect([held, during, read, chunks]).toEqual([true, [], false, ['a', null]])
  })

  test('a consumer can pause between two held pieces', () => {
    const { request } = createRequest()
    for (let n = 0; n < 2; n++) request.receive(Buffer.alloc(64 * KiB))
    const lengths: number[] = []

    request.consume((chunk) => {
      lengths.push(chunk?.length ?? 0)
      request.pause()
    })

    expect(lengths).toEqual([64 * KiB])
  })

  test('a body with a consumer is not discarded with its response', () => {
    const { request, receive, collect } = createRequest()
    const chunks = collect()

    request.discardUnasked()
    receive('a')

    expect(chunks).toEqual(['a'])
  })

  test('a discarded body is never handed on: a part would look like the whole', () => {
    const { request, receive, collect } = createRequest()

    receive('a')
    request.discardUnasked()
    const chunks = collect()
    receive('b', null)

    expect([chunks, request.complete]).toEqual([[], true])
  })
})
