import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { ClientBody } from '../../../src/downstream/body/client-body.ts'

const createBody = (length: number | null): ClientBody => {
  const request = new IncomingMessage(new Socket())
  return new ClientBody(request, new ServerResponse(request), length, true, {
    timeouts: { headers: 1000, body: null, keepAlive: 1000 },
    minRate: null,
  })
}

test('a body that streams has not begun before its first chunk is asked for, however often it was made ready', () => {
  const body = createBody(null)

  const stopped = body.stream(() => {})
  stopped.stop()
  const upload = body.stream(() => {})
  const before = body.started
  void upload[Symbol.asyncIterator]().next()

  expect([before, body.started]).toEqual([false, true])
})

test('a small body has begun when it is read', () => {
  const body = createBody(10)

  const before = body.started
  void body.read()

  expect([before, body.started]).toEqual([false, true])
})

test('the buffers of a body that was read can be freed', async () => {
  const request = new IncomingMessage(new Socket())
  const length = 64 * 1024
  const body = new ClientBody(request, new ServerResponse(request), length, true, {
    timeouts: { headers: 1000, body: null, keepAlive: 1000 },
    minRate: null,
  })
  const reading = body.read()
  request.push(Buffer.alloc(length / 2))
  request.push(Buffer.alloc(length / 2))
  request.push(null)
  const read = await reading
  const bytes = (): number => read.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const before = bytes()

  body.freeBuffers()

  expect([before, bytes()]).toEqual([length, 0])
})
