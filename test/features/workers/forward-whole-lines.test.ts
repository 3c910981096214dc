import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { forwardWholeLines } from '../../../src/features/workers/worker-supervisor.ts'

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
