import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFrame, flags, frameTypes } from '../../../../src/core/downstream/http2/frame.ts'
import { FrameReader } from '../../../../src/core/downstream/http2/frame-reader.ts'
import { ConnectionError, errorCodes } from '../../../../src/core/downstream/http2/http2-error.ts'

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const settings = createFrame(frameTypes.settings, 0, 0, Buffer.alloc(0))

/** Reads pieces, and lists the events; the data of a frame are one entry. */
const read = (pieces: readonly Buffer[]): unknown[] => {
  const events: unknown[] = []
  let data: Buffer[] = []
  const reader = new FrameReader({
    onFrame: (type, frameFlags, id, payload, from, to) =>
      events.push([type, frameFlags, id, payload.toString('latin1', from, to)]),
    onDataHead: (...head) => events.push(['data', ...head]),
    onData: (piece) => data.push(Buffer.from(piece)),
    onDataEnd() {
      events.push(Buffer.concat(data).toString('latin1'))
      data = []
    },
  })
  for (const piece of pieces) reader.read(piece)
  expect(reader.heldBytes).toBe(0)
  return events
}

const errorOf = (...frames: readonly Buffer[]): unknown => {
  try {
    return read(frames)
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error
    return error.code
  }
}

const padded = (padding: number, data: string): Buffer =>
  Buffer.concat([Buffer.from([padding]), Buffer.from(data), Buffer.alloc(padding)])

const anyFrame = fc.oneof(
  fc
    .record({ type: fc.constantFrom(2, 3, 6, 8, 0x77), id: fc.nat({ max: 9 }), payload: fc.string({ maxLength: 40 }) })
    .map(({ type, id, payload }) => createFrame(type, 0, id, Buffer.from(payload))),
  fc
    .record({ isLast: fc.boolean(), payload: fc.string({ maxLength: 300 }) })
    .map(({ isLast, payload }) => createFrame(frameTypes.data, isLast ? flags.endStream : 0, 1, Buffer.from(payload))),
  fc
    .record({ padding: fc.nat({ max: 30 }), payload: fc.string({ maxLength: 30 }) })
    .map(({ padding, payload }) => createFrame(frameTypes.data, flags.padded, 3, padded(padding, payload))),
)

const split = (bytes: Buffer, at: readonly number[]): Buffer[] => {
  const ends = [...new Set(at.map((each) => each % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...ends].map((from, i) => bytes.subarray(from, ends[i] ?? bytes.length))
}

test('frames are read the same wherever their bytes are split', () => {
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 20 }), (frames, at) => {
      const bytes = Buffer.concat([preface, settings, ...frames])

      expect(read(split(bytes, at))).toEqual(read([bytes]))
    }),
  )
})

test('a frame that comes byte by byte is read', () => {
  const frames = [createFrame(6, 0, 0, Buffer.from('12345678')), createFrame(0, flags.padded, 1, padded(3, 'abc'))]
  const bytes = Buffer.concat([preface, settings, ...frames])

  expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual([
    [4, 0, 0, ''],
    [6, 0, 0, '12345678'],
    ['data', 1, 7, 4, false],
    'abc',
  ])
})

describe('what ends a connection', () => {
  const { protocolError, frameSizeError } = errorCodes

  test.each<[string, readonly Buffer[], number]>([
    ['another preface', [Buffer.from('GET / HTTP/1.1\r\n')], protocolError],
    ['no SETTINGS first', [preface, createFrame(6, 0, 0, Buffer.alloc(8))], protocolError],
    ['an acknowledgment first', [preface, createFrame(4, flags.ack, 0, Buffer.alloc(0))], protocolError],
    ['a frame that is too large', [preface, settings, Buffer.from([0, 0x40, 1, 6, 0, 0, 0, 0, 0])], frameSizeError],
    ['DATA on stream 0', [preface, settings, createFrame(0, 0, 0, Buffer.alloc(1))], protocolError],
    ['a padding as long as its frame', [preface, settings, createFrame(0, 8, 1, Buffer.from([2, 0]))], protocolError],
    ['a padded frame of no length', [preface, settings, createFrame(0, 8, 1, Buffer.alloc(0))], protocolError],
    [
      'another frame within a field block',
      [preface, settings, createFrame(1, 0, 1, Buffer.alloc(0)), createFrame(6, 0, 0, Buffer.alloc(8))],
      protocolError,
    ],
    [
      'the field block of another stream',
      [preface, settings, createFrame(1, 0, 1, Buffer.alloc(0)), createFrame(9, 4, 3, Buffer.alloc(0))],
      protocolError,
    ],
  ])('%s', (_, bytes, code) => {
    expect(errorOf(...bytes)).toBe(code)
  })
})
