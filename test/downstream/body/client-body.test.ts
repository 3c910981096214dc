import { expect, test } from 'vitest'
import { ClientBody } from '../../../src/downstream/body/client-body.ts'
import { Http1Request } from '../../../src/downstream/http1/http1-request.ts'

const createRequest = (length: number | null): Http1Request => {
  const message = { method: 'POST', target: '/', version: '1.1', fields: [], length, isPersistent: true }
  return new Http1Request(message, null as never, { pause: () => {}, resume: () => {} })
}

const createBody = (length: number | null, request = createRequest(length)): ClientBody =>
  new ClientBody(request, { writeContinue: () => {} }, length, true, {
    timeouts: { headers: 1000, body: null, keepAlive: 1000 },
    minRate: null,
  })

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
  const length = 64 * 1024
  const request = createRequest(length)
  const body = createBody(length, request)
  const reading = body.read()
  request.receive(Buffer.alloc(length / 2))
  request.receive(Buffer.alloc(length / 2))
  request.receive(null)
  const read = await reading
  const bytes = (): number => read.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const before = bytes()

  body.freeBuffers()

  expect([before, bytes()]).toEqual([length, 0])
})
