import { execFileSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { type LogDestination, LogQueue, openStdout } from '../../../src/core/log/log-queue.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A reader of stdout that takes a batch on command. */
class Reader extends EventEmitter {
  readonly batches: string[] = []
  /** The memory that holds the batches. */
  readonly memory = new Set<ArrayBufferLike>()
  #done: ((error?: Error | null) => void) | undefined

  readonly sink = this as unknown as LogDestination

  write(batch: Buffer, done?: (error?: Error | null) => void): boolean {
    this.batches.push(batch.toString())
    this.memory.add(batch.buffer)
    this.#done = done
    return true
  }

  /** Takes a batch; false: there is none. */
  take(): boolean {
    const done = this.#done
    this.#done = undefined
    done?.()
    return done !== undefined
  }

  leave(): void {
    const error = new Error('EPIPE')
    this.#done?.(error)
    this.emit('error', error)
  }
}

const openQueue = (maxBytes = 1_000_000, onDrain = () => {}) => {
  const reader = new Reader()
  return { reader, out: new LogQueue(reader.sink, maxBytes, onDrain) }
}

test('a line is written within 100 ms, together with those that came meanwhile', () => {
  const { out, reader } = openQueue()

  out.write('one\n')
  vi.advanceTimersByTime(99)
  out.write('two\n')
  const early = reader.batches.length
  vi.advanceTimersByTime(1)

  expect(early).toBe(0)
  expect(reader.batches).toEqual(['one\ntwo\n'])
})

test('batches are written one after another, in order', () => {
  const { out, reader } = openQueue()
  const lines = ['a', 'b', 'c'].map((letter) => letter.repeat(64 * 1024))

  for (const line of lines) out.write(line)
  const first = reader.batches.length
  while (reader.take()) {}

  expect([first, reader.batches]).toEqual([1, lines])
})

test('at most the limit waits, the batch being written included; further lines are dropped and counted', () => {
  const { out, reader } = openQueue(40_000)

  for (let i = 0; i < 100; i++) out.write(`${'é'.repeat(499)}x\n`) // bytes are counted, not characters

  expect(out.dropped).toBe(60)
  for (let i = 0; i < 3; i++) {
    vi.advanceTimersByTime(100)
    reader.take()
  }
  expect(Buffer.byteLength(reader.batches.join(''))).toBe(40_000)
})

test('no line is cut, however many bytes its characters take', () => {
  const { out, reader } = openQueue()
  const almostFull = Array.from({ length: 650 }, () => `${'x'.repeat(99)}\n`)
  const lines = [...almostFull, `${'€'.repeat(300)}\n`, ...almostFull, `${'😀'.repeat(300)}\n`]

  for (const line of lines) out.write(line)
  vi.advanceTimersByTime(100)
  while (reader.take()) {}

  expect(reader.batches.length).toBeGreaterThan(1)
  expect(reader.batches.every((batch) => batch.endsWith('\n'))).toBe(true)
  expect(reader.batches.join('')).toBe(lines.join(''))
})

test('a batch of few lines that waits for the reader takes little more memory than they do', () => {
  const { out, reader } = openQueue()

  for (let nth = 0; nth < 100; nth++) {
    out.write(`${nth} ${'x'.repeat(300)}\n`)
    vi.advanceTimersByTime(100)
  }
  while (reader.take()) {}

  expect(reader.batches.length).toBe(100)
  expect([...reader.memory].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(200_000)
})

test('when half the room is free again, onDrain is called', () => {
  const onDrain = vi.fn()
  const { out, reader } = openQueue(40_000, onDrain)
  for (let i = 0; i < 41; i++) out.write(`${'x'.repeat(999)}\n`)

  reader.take()
  expect(onDrain).not.toHaveBeenCalled()
  reader.take()

  expect(onDrain).toHaveBeenCalledTimes(1)
})

test('end writes the waiting lines, and resolves when they are written', async () => {
  const { out, reader } = openQueue()
  out.write('last\n')
  const ended = vi.fn()

  const end = out.end().then(ended)
  await Promise.resolve()
  expect(ended).not.toHaveBeenCalled()
  reader.take()
  await end

  expect(reader.batches).toEqual(['last\n'])
})

test('a reader that has gone ends every wait, and nothing is kept for it', async () => {
  const { out, reader } = openQueue()
  out.write('x'.repeat(20_000))
  const end = out.end()

  reader.leave()
  await end
  out.write('too late\n')

  expect(out.dropped).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
  await out.end()
})

test('lines of another process go out after what was written before, without waiting for more', () => {
  const { out, reader } = openQueue()
  out.write('own\n')

  out.forward(Buffer.from('one\ntwo\n'))
  reader.take()

  expect(reader.batches).toEqual(['own\n', 'one\ntwo\n'])
})

test('whole forwarded lines are dropped and counted when there is no room, or no reader', () => {
  const { out, reader } = openQueue(10)

  out.forward(Buffer.from('1234\n6789\n'))
  out.forward(Buffer.from('none\nof\nthese\n'))
  reader.take()
  out.forward(Buffer.from('1234567\n90\n'))
  const full = out.dropped
  reader.leave()
  out.forward(Buffer.from('two\nthree\n'))

  expect(reader.batches).toEqual(['1234\n6789\n', '1234567\n'])
  expect([full, out.dropped]).toEqual([4, 6])
})

test('waiting megabytes are written as soon as a slow reader takes some, without a timer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { readEnd, writeEnd } = openPipe()
  const out = new LogQueue(openStdout(writeEnd), 4 * 1024 ** 2, () => {})
  const line = `${'x'.repeat(511)}\n`
  for (let nth = 0; nth < 8000; nth++) out.write(line)
  void out.end()

  const chunk = Buffer.alloc(64 * 1024)
  let read = 0
  await turnUntil(() => {
    read += take(readEnd, chunk)
    return read === 8000 * line.length
  })

  expect([read, out.dropped]).toEqual([8000 * line.length, 0])
})

test('while a file takes nothing, lines wait for the next attempt, and beyond the limit they are dropped', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const fd = openSync('/dev/full', 'w')
  onTestFinished(() => closeSync(fd))
  const out = new LogQueue(openStdout(fd), 20, () => {})
  out.write('one\n')
  void out.end()
  await turnUntil(() => vi.getTimerCount() > 0)

  out.forward(Buffer.from('two\nthree\nfour\nfive\n'))
  vi.advanceTimersByTime(250)
  const trying = vi.getTimerCount()
  await turnUntil(() => vi.getTimerCount() > 0)

  expect([out.dropped, trying, vi.getTimerCount()]).toEqual([1, 0, 1])
})

/** Lets the event loop turn until something holds, or long enough to see that it does not. */
const turnUntil = async (holds: () => boolean): Promise<void> => {
  for (let turn = 0; turn < 20_000 && !holds(); turn++) await new Promise((resolve) => setImmediate(resolve))
}

const openPipe = (): { readEnd: number; writeEnd: number } => {
  const folder = mkdtempSync(join(tmpdir(), 'output-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const fifo = join(folder, 'pipe')
  execFileSync('mkfifo', [fifo])
  const readEnd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK)
  onTestFinished(() => closeSync(readEnd))
  return { readEnd, writeEnd: openSync(fifo, constants.O_WRONLY) }
}

/** Reads what a pipe holds; 0: nothing, for now. */
const take = (readEnd: number, into: Buffer): number => {
  try {
    return readSync(readEnd, into)
  } catch {
    return 0
  }
}
