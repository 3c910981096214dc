import { expect, test } from 'vitest'
import type { ActiveRequest } from '../../../../src/core/downstream/request/active-request.ts'
import { ClientSink } from '../../../../src/core/downstream/response/send-response.ts'
import { serveHttp1 } from '../../../helpers/http1-server.ts'

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
