import { connect, createServer, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { WideConnections } from '../../../../src/core/downstream/http2/wide-connections.ts'
import { NodeReceiveWindows } from '../../../../src/features/http2/node/receive-windows.ts'
import { StreamRequest } from '../../../../src/features/http2/node/stream-request.ts'
import { StreamResponse } from '../../../../src/features/http2/node/stream-response.ts'

/** Sends a request, responds when its body has been read, and resolves to the stream when it has closed. */
const serveOne = async (method: 'GET' | 'POST'): Promise<ServerHttp2Stream> => {
  const server = createServer()
  const closed = new Promise<ServerHttp2Stream>((resolve) => {
    server.on('session', (session) => {
      const windows = new NodeReceiveWindows(session, new WideConnections())
      session.on('stream', (stream, _headers, _flags, raw) => {
        const request = new StreamRequest(stream, raw as unknown as string[], null as never, windows)
        const response = new StreamResponse(request)
        stream.on('close', () => resolve(stream))
        const respond = (): void => {
          response.writeFields(200, '', ['Content-Type', 'text/plain'])
          response.end('response')
        }
        if (request.complete) return respond()
        request.consume((chunk) => {
          if (chunk === null) respond()
        })
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    session.destroy()
    server.close()
  })
  session
    .request({ ':method': method })
    .end(method === 'POST' ? 'body' : undefined)
    .resume()
  return closed
}

test('a stream whose request had a body is destroyed when its response is written, and not before', async () => {
  expect((await serveOne('POST')).writableFinished).toBe(true)
})

test('a stream whose request had no body is destroyed too, and Node reads nothing of it', async () => {
  expect(await serveOne('GET')).toMatchObject({ writableFinished: true, readableEnded: false })
})

/** A stream whose client takes nothing: its writes are out, and RST_STREAM never is. */
class DeafStream extends Duplex {
  readonly session = { destroyed: false }
  readonly state = { localClose: 1 }
  readonly resets: (number | undefined)[] = []

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done()
  }

  respond(): void {}

  close(code?: number): void {
    this.resets.push(code)
  }
}

test('a stream whose RST_STREAM cannot go out is destroyed a second later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const stream = new DeafStream()
  const request = { stream, complete: false, method: 'POST', socket: new Socket(), discard: () => {} }
  const response = new StreamResponse(request as unknown as StreamRequest & { readonly stream: ServerHttp2Stream })

  response.writeFields(404, '', [])
  response.end()
  await vi.advanceTimersByTimeAsync(5000)
  const before = [stream.resets, stream.destroyed]
  await vi.advanceTimersByTimeAsync(1000)

  expect(before).toEqual([[0], false])
  expect(stream.destroyed).toBe(true)
})
