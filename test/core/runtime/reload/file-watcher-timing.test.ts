/** When a watcher checks, and when it compares contents: with stamps that the test writes, and a clock that it sets. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createFileWatcher } from '../../../../src/core/runtime/reload/file-watcher.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Script {
  readonly pollMs?: number
  readonly reading?: () => boolean
  /** What a call waits for. */
  readonly hanging?: { readonly stamp?: Promise<void>; readonly changed?: Promise<void> }
}

/** Watches scripted stat data and contents, and records when each was read. */
const watchScripted = ({ pollMs, reading = () => false, hanging = {} }: Script = {}) => {
  const now = { stamp: 'one', changed: false }
  const seen = { stamps: 0, compared: [] as number[], changes: 0 }
  const startedAt = Date.now()
  const watch = createFileWatcher({
    stamp: async () => {
      seen.stamps++
      await hanging.stamp
      return now.stamp
    },
    changed: async () => {
      seen.compared.push(Date.now() - startedAt)
      await hanging.changed
      return now.changed
    },
    reading,
    onChange: () => void seen.changes++,
  })
  watch.configure({ watch: true, poll: pollMs ?? null })
  onTestFinished(() => watch.close())
  return { now, seen, watch }
}

test('a file that differs at each reading, as in /proc, is not read without end', async () => {
  const { now, seen } = watchScripted()
  now.changed = true

  await vi.advanceTimersByTimeAsync(60_000)

  expect(seen.changes).toBe(1)
})

test('a file at rest is checked four times a second, and its contents are compared once', async () => {
  const { seen } = watchScripted()

  await vi.advanceTimersByTimeAsync(100)
  const first = seen.stamps
  await vi.advanceTimersByTimeAsync(10_000)

  expect(seen.stamps - first).toBe(40)
  expect(seen.compared.length).toBe(1)
})

test('contents are compared every `reload.poll` though `stat` reports no change', async () => {
  const { now, seen } = watchScripted({ pollMs: 5000 })

  await vi.advanceTimersByTimeAsync(1000)
  now.changed = true
  const early = seen.changes
  await vi.advanceTimersByTimeAsync(4500)

  expect([early, seen.changes]).toEqual([0, 1])
})

test('a save of several writes is noticed once two checks, 50 ms apart, have seen the same', async () => {
  const { now, seen } = watchScripted()
  await vi.advanceTimersByTimeAsync(10_000)
  const checks = seen.stamps

  Object.assign(now, { stamp: 'emptied', changed: true })
  while (seen.stamps === checks) await vi.advanceTimersByTimeAsync(1)
  now.stamp = 'written'
  await vi.advanceTimersByTimeAsync(60)
  const early = seen.changes
  await vi.advanceTimersByTimeAsync(50)

  expect([early, seen.changes]).toEqual([0, 1])
})

/** Writes every 20 ms for `ms`. */
const write = async (now: { stamp: string }, ms: number): Promise<void> => {
  for (let at = 0; at < ms; at += 20) {
    now.stamp = `written at ${Date.now()}`
    await vi.advanceTimersByTimeAsync(20)
  }
}

test('a file that is written without end is compared every half second', async () => {
  const { now, seen } = watchScripted()

  await write(now, 10_000)

  const gaps = seen.compared.slice(1).map((at, nth) => at - (seen.compared[nth] ?? 0))
  expect(gaps.every((gap) => gap >= 500 && gap <= 800)).toBe(true)
  expect(gaps.length).toBeGreaterThan(10)
})

test('contents that were compared during a write are compared again, once', async () => {
  const { now, seen } = watchScripted()
  while (seen.compared.length < 2) await write(now, 20)
  const before = seen.compared.length

  await vi.advanceTimersByTimeAsync(10_000)

  expect(seen.compared.length).toBe(before + 1)
})

test('nothing is compared during a load, and everything after it', async () => {
  let reading = true
  const { now, seen } = watchScripted({ reading: () => reading })
  now.changed = true

  await vi.advanceTimersByTimeAsync(5000)
  const meanwhile = seen.compared.length
  reading = false
  await vi.advanceTimersByTimeAsync(500)

  expect([meanwhile, seen.changes]).toEqual([0, 1])
})

test.each(['stamp', 'changed'] as const)(
  'a file system that hangs is asked once, and watched again: %s',
  async (hangs) => {
    const hanging = Promise.withResolvers<void>()
    const { now, seen, watch } = watchScripted({ hanging: { [hangs]: hanging.promise } })
    now.changed = true
    const asked = () => (hangs === 'stamp' ? seen.stamps : seen.compared.length)

    for (let minute = 0; minute < 2; minute++) {
      watch.configure({ watch: true, poll: null })
      await vi.advanceTimersByTimeAsync(60_000)
    }
    const meanwhile = [asked(), seen.changes]
    hanging.resolve()
    await vi.advanceTimersByTimeAsync(1000)

    expect([meanwhile, seen.changes]).toEqual([[1, 0], 1])
  },
)

test('once closed, it checks no more, though a reload that ends later configures it', async () => {
  const { seen, watch } = watchScripted()
  watch.close()

  watch.configure({ watch: true, poll: 1000 })
  await vi.advanceTimersByTimeAsync(60_000)

  expect(seen.stamps).toBe(0)
})
