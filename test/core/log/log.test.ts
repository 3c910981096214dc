import { expect, onTestFinished, test, vi } from 'vitest'
import { serializeError } from '../../../src/core/log/log.ts'
import { ProcessStats } from '../../../src/core/log/process-stats.ts'

test('an error is serialized as its name, message, code and stack, and no other property of it', () => {
  const error = Object.assign(new TypeError('why'), { code: 'EWHY', rawPacket: Buffer.from('secret'), request: {} })

  expect(serializeError(error)).toEqual({ type: 'TypeError', message: 'why', code: 'EWHY', stack: error.stack })
})

test('the causes of an error are shown below it, and a circle of causes ends', () => {
  const cause = new Error('the deeper one')
  const ring = Object.assign(new Error('why'), { cause: null as unknown })
  ring.cause = ring

  const stack = expect.stringMatching(/why[\s\S]*caused by: Error: the deeper one/)
  expect(serializeError(new Error('why', { cause }))).toMatchObject({ stack })
  expect(serializeError(ring)).toMatchObject({ message: 'why' })
})

test('a thrown value that is no error is not shown: it may hold anything', () => {
  expect(serializeError('secret')).toBe('a string was thrown')
})

test('memory is as last read when no descriptor is free to read it', () => {
  const stats = new ProcessStats()
  const before = stats.report.residentBytes
  vi.spyOn(process, 'memoryUsage').mockImplementation(() => {
    throw Object.assign(new Error('EMFILE: too many open files, uv_resident_set_memory'), { code: 'EMFILE' })
  })
  onTestFinished(() => void vi.restoreAllMocks())

  expect(stats.report.residentBytes).toBe(before)
})
