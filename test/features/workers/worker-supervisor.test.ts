import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createRestartBackoff, forwardWholeLines } from '../../../src/features/workers/worker-supervisor.ts'

test('the first exit is followed by a start at once, the next ones after a delay that doubles up to 30 s', () => {
  const nextDelayMs = createRestartBackoff()

  const delays = Array.from({ length: 12 }, () => nextDelayMs(500))

  expect(delays).toEqual([0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
})

test('a worker that lived for a minute is followed at once', () => {
  const nextDelayMs = createRestartBackoff()
  for (let n = 0; n < 5; n++) nextDelayMs(500)

  expect([nextDelayMs(59_999), nextDelayMs(60_000), nextDelayMs(0)]).toEqual([1600, 0, 100])
})

test('delays are limited, however often a worker ends', () => {
  const nextDelayMs = createRestartBackoff()
  for (let n = 0; n < 5000; n++) nextDelayMs(0)

  expect(nextDelayMs(0)).toBe(30_000)
})

const forwarded = (...chunks: readonly string[]): readonly string[] => {
  const from = new PassThrough()
  const got: string[] = []
  forwardWholeLines(from, (lines) => void got.push(lines.toString()))
  for (const chunk of chunks) from.emit('data', Buffer.from(chunk))
  return got
}

test('lines are forwarded as they come, and the end of one is waited for', () => {
  expect(forwarded('one\ntwo\nth', 'r', 'ee\n', 'four\n')).toEqual(['one\ntwo\n', 'three\n', 'four\n'])
})

test('what has no end when its writer dies is no line', () => {
  expect(forwarded('one\ntw')).toEqual(['one\n'])
})

test('a character that is cut in two is whole again', () => {
  const from = new PassThrough()
  const got: string[] = []
  forwardWholeLines(from, (lines) => void got.push(lines.toString()))
  const bytes = Buffer.from('ä\n')

  from.emit('data', bytes.subarray(0, 1))
  from.emit('data', bytes.subarray(1))

  expect(got).toEqual(['ä\n'])
})

test('a line without an end is not kept for ever: it is left out, and the next one is not', () => {
  const long = 'x'.repeat(700_000)

  expect(forwarded('one\n', long, long, long, `${long}\ntwo\n`, 'three\n')).toEqual(['one\n', 'two\n', 'three\n'])
})
