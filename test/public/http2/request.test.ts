import { EventEmitter } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { expect, test } from 'vitest'
import { StreamRequest } from '../../../src/public/http2/request.ts'

const requestOn = (state: {
  readonly closed: boolean
  readonly destroyed: boolean
  readonly endAfterHeaders?: boolean
}) => {
  const stream = Object.assign(new EventEmitter(), { endAfterHeaders: false, ...state })
  const request = new StreamRequest(stream as unknown as ServerHttp2Stream, [':method', 'POST'], null as never)
  let ended = false
  request.on('end', () => {
    ended = true
  })
  stream.emit('end')
  return { ended, complete: request.complete, rawHeaders: request.rawHeaders }
}

// Node tells the end of a body whose stream was reset before it tells that the stream has closed.
test.each([
  ['open', { closed: false, destroyed: false }, true],
  ['reset', { closed: true, destroyed: false }, false],
  ['gone', { closed: true, destroyed: true }, false],
])('the end of a body whose stream is %s', (_, state, whole) => {
  expect(requestOn(state)).toMatchObject({ ended: whole, complete: whole })
})

test('a body without a length is chunked, and where there is none nothing is said of it', () => {
  const open = { closed: false, destroyed: false }

  expect(requestOn(open).rawHeaders).toEqual(['transfer-encoding', 'chunked'])
  expect(requestOn({ ...open, endAfterHeaders: true }).rawHeaders).toEqual([])
})
