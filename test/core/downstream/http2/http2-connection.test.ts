/** A connection on a scripted socket. */
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createFrame, createNumberFrame, flags, frameTypes } from '../../../../src/core/downstream/http2/frame.ts'
import { Http2Connection } from '../../../../src/core/downstream/http2/http2-connection.ts'
import { type ConnectionError, errorCodes } from '../../../../src/core/downstream/http2/http2-error.ts'
import type { Stream } from '../../../../src/core/downstream/http2/stream.ts'
import { WideConnections } from '../../../../src/core/downstream/http2/wide-connections.ts'
import { block, get } from '../../../helpers/http2.ts'

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

interface Written {
  readonly type: number
  readonly flags: number
  readonly id: number
  readonly length: number
}

/** Opens a connection whose client has a large connection window by default. */
const openConnection = (connectionWindow = 2 ** 30) => {
  let bytes = Buffer.alloc(0)
  let isStalled = false
  const socket = Object.assign(new EventEmitter(), {
    destroyed: false,
    ended: false,
    write(chunk: Buffer, onWritten: () => void) {
      bytes = Buffer.concat([bytes, chunk])
      onWritten()
      return !isStalled
    },
    end() {
      this.ended = true
    },
    destroy() {
      this.destroyed = true
    },
  })
  const streams: Stream[] = []
  const failures: ConnectionError[] = []
  const faults: string[] = []
  const closed: number[] = []
  const connection = new Http2Connection(socket as unknown as Socket, {
    maxConcurrentStreams: 100,
    maxListSize: 64 * 1024,
    wideConnections: new WideConnections(),
    onStream: (stream) => streams.push(stream),
    onStreamClosed: ({ id }) => closed.push(id),
    onMalformed: (fault) => faults.push(fault),
    onFailure: (error) => failures.push(error),
  })
  const receive = (...frames: readonly Buffer[]): void => void socket.emit('data', Buffer.concat(frames))
  receive(preface, createFrame(frameTypes.settings, 0, 0, Buffer.alloc(0)))
  receive(createNumberFrame(frameTypes.windowUpdate, 0, connectionWindow))
  /** Lists what has been written since the last call. */
  const written = async (): Promise<Written[]> => {
    await setImmediate()
    await setImmediate()
    const frames: Written[] = []
    for (let at = 0; at < bytes.length; ) {
      const length = bytes.readUIntBE(at, 3)
      frames.push({ type: bytes[at + 3] ?? 0, flags: bytes[at + 4] ?? 0, id: bytes.readUInt32BE(at + 5), length })
      at += 9 + length
    }
    bytes = Buffer.alloc(0)
    return frames
  }
  const stall = (on: boolean): void => {
    isStalled = on
    if (!on) socket.emit('drain')
  }
  return { connection, socket, streams, failures, faults, closed, receive, written, stall }
}

/** Lists what a stream is told at its end. */
const hear = (stream: Stream | undefined): string[] => {
  const heard: string[] = []
  const [onSent, onClose] = ['sent', 'closed'].map((event) => () => void heard.push(event)) as [() => void, () => void]
  Object.assign(stream as Stream, { events: { onData() {}, onRequestEnd() {}, onDrain() {}, onSent, onClose } })
  return heard
}

const request = (id: number, isLast = true): Buffer =>
  createFrame(frameTypes.headers, isLast ? 5 : 4, id, block(...get('/valuation/score', 'POST')))

const windows = (...ids: readonly number[]): Buffer[] =>
  ids.map((id) => createNumberFrame(frameTypes.windowUpdate, id, 2 ** 30))

describe('responses', () => {
  test('responses take turns, a frame each', async () => {
    const { connection, streams, receive, written } = openConnection()
    receive(request(1), request(3), ...windows(1, 3))
    await written()

    for (const stream of streams) connection.sendData(stream, Buffer.alloc(40_000))
    const data = (await written()).filter(({ type }) => type === frameTypes.data)

    expect(data.map(({ id, length }) => [id, length])).toEqual([
      ...[1, 3, 1, 3].map((id) => [id, 16_384]),
      ...[1, 3].map((id) => [id, 40_000 - 2 * 16_384]),
    ])
  })

  test('responses go out to the window of each, and continue when it opens', async () => {
    const { connection, streams, receive, written } = openConnection()
    receive(createFrame(frameTypes.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 10])), request(1))
    await written()
    const [stream] = streams as [Stream]

    connection.sendHead(stream, '200', [])
    connection.sendData(stream, 'hello, world')
    connection.endResponse(stream)
    const first = await written()
    receive(createNumberFrame(frameTypes.windowUpdate, 1, 1))
    const second = await written()
    receive(createNumberFrame(frameTypes.windowUpdate, 1, 9))
    const third = await written()

    expect(first.map(({ type, length }) => [type, length])).toEqual([
      [frameTypes.headers, 1],
      [frameTypes.data, 10],
    ])
    expect([...second, ...third].map(({ length, flags }) => [length, flags])).toEqual([
      [1, 0],
      [1, flags.endStream],
    ])
  })

  test('a head longer than a frame continues in CONTINUATION, and ends without a body', async () => {
    const { connection, streams, receive, written } = openConnection()
    receive(request(1))
    await written()

    connection.sendHead(streams[0] as Stream, '200', ['x-a', 'a'.repeat(40_000)])
    connection.endResponse(streams[0] as Stream)
    const frames = await written()

    expect(frames.map(({ type, flags }) => [type, flags])).toEqual([
      [frameTypes.headers, flags.endStream],
      [frameTypes.continuation, 0],
      [frameTypes.continuation, flags.endHeaders],
    ])
  })

  test('response heads are written, some in each write, while the window of the connection is shut', async () => {
    const { connection, streams, receive, written } = openConnection(1)
    receive(...[1, 3, 5, 7, 9].map((id) => request(id)), ...windows(1))
    await written()

    connection.sendData(streams[0] as Stream, Buffer.alloc(70_000))
    await written()
    for (const stream of streams.slice(1)) connection.sendHead(stream, '200', ['x-a', 'a'.repeat(60_000)])
    const heads = (await written()).filter(({ type }) => type === frameTypes.headers)

    expect(heads.map(({ id }) => id)).toEqual([3, 5, 7, 9])
  })

  // RFC 7541 §4.2.
  test('the first response announces the smallest and the last table size of several settings in one frame', async () => {
    const { connection, streams, receive, written } = openConnection()
    const sizes = [0, 4096].map((size) => Buffer.from([0, 1, 0, 0, size >> 8, 0]))
    receive(createFrame(frameTypes.settings, 0, 0, Buffer.concat(sizes)), request(1))
    await written()

    connection.sendHead(streams[0] as Stream, '200', [])

    expect((await written()).map(({ length }) => length)).toEqual([5]) // 20, 3f e1 1f, 88
  })

  test('responses wait while the socket is full, and a reset stream sends nothing more', async () => {
    const { connection, streams, receive, written, stall } = openConnection()
    receive(request(1), request(3))
    await written()
    const [first, second] = streams as [Stream, Stream]

    stall(true)
    connection.sendHead(first, '200', [])
    await written()
    connection.sendData(first, 'a')
    connection.sendHead(second, '200', [])
    const meanwhile = await written()
    connection.reset(first, 2)
    stall(false)

    expect(meanwhile).toEqual([])
    expect((await written()).map(({ type, id }) => [type, id])).toEqual([
      [frameTypes.rstStream, 1],
      [frameTypes.headers, 3],
    ])
  })
})

test('a broken frame ends the connection with GOAWAY, and all its streams', async () => {
  const { connection, socket, streams, failures, closed, receive, written } = openConnection()
  receive(request(1))
  const heard = hear(streams[0])
  await written()

  receive(createFrame(frameTypes.ping, 0, 1, Buffer.alloc(8)))

  expect((await written()).map(({ type }) => type)).toEqual([frameTypes.goAway])
  expect({ heard, closed, open: connection.openStreams }).toEqual({ heard: ['closed'], closed: [1], open: 0 })
  expect(socket.ended).toBe(true)
  expect(failures.map(({ message }) => message)).toEqual(['PING on a stream'])
  socket.emit('close')
})

test.each([
  [['connection', 'close'], 'the field connection, which is of HTTP/1'],
  [['X-A', 'b'], 'a field name that is not a lower-case token'],
  [['', ''], 'a field name that is not a lower-case token'],
  [['te', 'gzip'], 'an invalid value of te'],
  [['content-length', 'a'], 'an invalid value of content-length'],
  [[':path', '/'], ':path twice, or empty'],
  [['x-a', 'b', ':path', '/'], 'a pseudo-field behind a regular field'],
  [[':path', '\n'], 'a pseudo-field that is unknown, or has an invalid value'],
  [['content-length', '3'], 'a body that is not as long as content-length says'],
  [['x-a', 'a'.repeat(64 * 1024)], 'a list of more than 65536 bytes (SETTINGS_MAX_HEADER_LIST_SIZE)'],
] as const)('a request with %j is reset, and the log can say why', async (fields, fault) => {
  const { faults, streams, failures, receive, written } = openConnection()
  const bytes = block(...get(), ...fields)
  await written()

  for (let at = 0; at < bytes.length; at += 16_384)
    receive(createFrame(at === 0 ? 1 : 9, at + 16_384 < bytes.length ? 1 : 5, 1, bytes.subarray(at, at + 16_384)))

  expect((await written()).map(({ type }) => type)).toEqual([frameTypes.rstStream])
  expect([faults, streams, failures]).toEqual([[fault], [], []])
})

test('a request that breaks the protocol while under way is reset, and its fault is known', () => {
  const { streams, receive } = openConnection()
  const length = block(...get('/', 'POST'), 'content-length', '1')

  receive(createFrame(1, 4, 1, length), createFrame(0, 0, 1, Buffer.from('ab')))
  receive(request(3), createNumberFrame(frameTypes.windowUpdate, 3, 0), request(5, false))
  receive(createFrame(1, 5, 5, block('X-A', 'b')), request(7), createNumberFrame(frameTypes.rstStream, 7, 8))

  expect(streams.map(({ fault }) => fault)).toEqual([
    'a body that is not as long as content-length says',
    'WINDOW_UPDATE of 0',
    'malformed trailers',
    null,
  ])
})

test('HEADERS that are too short for their priority end the connection with FRAME_SIZE_ERROR', () => {
  const { failures, receive } = openConnection()

  receive(createFrame(frameTypes.headers, flags.priority | 5, 1, Buffer.alloc(4)))

  expect(failures.map(({ code }) => code)).toEqual([errorCodes.frameSizeError])
})

test('a PRIORITY that depends on itself resets its stream, but sends nothing on one that has closed', async () => {
  const { connection, streams, receive, written } = openConnection()
  receive(request(1), request(3))
  connection.endResponse(streams[0] as Stream)
  await written()

  for (const id of [1, 3]) receive(createFrame(frameTypes.priority, 0, id, Buffer.from([0, 0, 0, id, 0])))

  expect((await written()).map(({ type, id }) => [type, id])).toEqual([[frameTypes.rstStream, 3]])
})

// RFC 9113 §6.8: the client has not heard of it yet.
test('frames of streams behind GOAWAY are ignored, and earlier streams are served', async () => {
  const { connection, socket, streams, failures, receive, written } = openConnection()
  receive(request(1))
  await written()

  connection.goAway()
  receive(request(3, false), createFrame(frameTypes.data, 1, 3, Buffer.from('abc')), request(5), ...windows(5))
  receive(createNumberFrame(frameTypes.rstStream, 5, 8))
  connection.sendHead(streams[0] as Stream, '200', [])
  connection.endResponse(streams[0] as Stream)
  const frames = await written()

  expect(frames.map(({ type, id }) => [type, id])).toEqual([
    [frameTypes.goAway, 0],
    [frameTypes.headers, 1],
  ])
  expect([failures, streams.length, socket.ended]).toEqual([[], 1, true])
  receive(createFrame(frameTypes.ping, 0, 0, Buffer.alloc(8)))
  expect(await written()).toEqual([])
})

test('a client that makes the gateway reply, and reads nothing, loses its connection', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const { failures, receive, written, stall } = openConnection()
  stall(true)
  receive(createFrame(frameTypes.ping, 0, 0, Buffer.alloc(8)))
  await written()

  for (let nth = 0; nth < 1100 && failures.length === 0; nth++) {
    vi.advanceTimersByTime(100)
    receive(createFrame(frameTypes.ping, 0, 0, Buffer.alloc(8)))
  }

  expect(failures.map(({ message }) => message)).toEqual(['too many unread replies'])
})

test('the owner of a response whose connection breaks before the system has taken it gets an error', async () => {
  const { connection, socket, streams, receive } = openConnection()
  receive(request(1))
  const [stream] = streams as [Stream]
  const heard = hear(stream)
  socket.write = () => true // and never says that it has
  connection.sendHead(stream, '200', [])
  connection.endResponse(stream)
  await setImmediate()

  socket.emit('close')

  expect(heard).toEqual(['closed'])
})

test.each([
  ['END_STREAM', createFrame(frameTypes.data, flags.endStream, 1, Buffer.alloc(0)), ['sent', 'closed']],
  ['RST_STREAM', createNumberFrame(frameTypes.rstStream, 1, 8), ['closed']],
] as const)('a stream ends once, also with %s before the system has taken its response', async (_, end, told) => {
  const { connection, socket, streams, closed, receive, written } = openConnection()
  const taken: (() => void)[] = []
  receive(request(1, false))
  await written()
  const heard = hear(streams[0])
  socket.write = (_chunk, onWritten) => taken.push(onWritten) > 0
  connection.endResponse(streams[0] as Stream)
  await setImmediate()

  receive(end)
  for (const onWritten of taken) onWritten()

  expect({ heard, closed }).toEqual({ heard: told, closed: [1] })
})

test('a response ends once, even if a window opens behind it', async () => {
  const { connection, streams, receive, written } = openConnection()
  receive(request(1, false))
  const heard = hear(streams[0])
  connection.endResponse(streams[0] as Stream)
  await written()

  receive(...windows(1), createFrame(frameTypes.settings, 0, 0, Buffer.from([0, 4, 0, 1, 0, 0])))

  expect((await written()).map(({ type }) => type)).toEqual([frameTypes.settings])
  expect(heard).toEqual(['sent'])
})

test('a complete body counts while it waits', async () => {
  const { connection, streams, receive, written } = openConnection()
  const data = (length: number, frameFlags = 0) => createFrame(frameTypes.data, frameFlags, 1, Buffer.alloc(length))
  const many = (count: number) => Array.from({ length: count }, () => data(16_384))
  receive(request(1, false), ...many(3), data(16_383))
  connection.readBody(streams[0] as Stream, 65_535, false) // it becomes wide
  await written()

  receive(...many(120), data(0, flags.endStream))
  const waiting = await written()
  connection.reset(streams[0] as Stream, 8)

  expect(waiting).toEqual([])
  expect((await written()).map(({ type, id }) => [type, id])).toEqual([
    [frameTypes.rstStream, 1],
    [frameTypes.windowUpdate, 0],
  ])
})
