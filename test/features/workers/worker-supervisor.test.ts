import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createRestartBackoff, forwardWholeLines } from '../../../src/features/workers/worker-supervisor.ts'

test('the first exit is followed by a start at once, the next ones after a delay that doubles up to 30 s', () => {
  const nextDelayMs = createRestartBackoff()

  const delays = Array.from({ length: 5000 }, () => nextDelayMs(500))

  expect(delays.slice(0, 11)).toEqual([0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000])
  expect(new Set(delays.slice(10))).toEqual(new Set([30_000]))
})

test('a worker that lived for a minute is followed at once', () => {
  const nextDelayMs = createRestartBackoff()
  for (let n = 0; n < 5; n++) nextDelayMs(500)

  expect([nextDelayMs(59_999), nextDelayMs(60_000), nextDelayMs(0)]).toEqual([1600, 0, 100])
})

const long = 'x'.repeat(700_000)

test.each<[string, readonly string[], readonly string[]]>([
  ['are forwarded as they come', ['one\ntwo\nth', 'r', 'ee\n', 'four\n'], ['one\ntwo\n', 'three\n', 'four\n']],
  ['are none without an end, when the writer dies', ['one\ntw'], ['one\n']],
  ['may have a character that is cut in two', ['\xc3', '\xa4\n'], ['ä\n']],
  ['without an end are not kept for ever', ['1\n', long, long, long, `${long}\n2\n`, '3\n'], ['1\n', '2\n', '3\n']],
])('lines %s', (_, chunks, expected) => {
  const from = new PassThrough()
  const got: string[] = []
  forwardWholeLines(from, (lines) => void got.push(lines.toString()))

  for (const chunk of chunks) from.emit('data', Buffer.from(chunk, 'latin1'))

  expect(got).toEqual(expected)
})
