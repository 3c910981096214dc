import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { loadConfig } from '../../../../src/core/config/load/load-config.ts'
import { heapMib, loadInThread } from '../../../../src/core/config/load/load-in-thread.ts'
import { folderWith, sandbox, slowFile } from '../helper.ts'

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>()
  return { ...real, open: vi.fn(real.open) }
})

// Another file's thread may still end in this process.
const threads = new Set<unknown>()
const onThread = (thread: Worker): void => void threads.add(thread)
process.on('worker', onThread)
afterAll(() => void process.off('worker', onThread))

const fileWith = (text: string): string => join(folderWith({ 'gateway.yaml': text }), 'gateway.yaml')

test('a file that is loaded in a thread gives the same result as otherwise, beside another one too', async () => {
  const files = [fileWith(sandbox), fileWith('a: [')]

  expect(await Promise.all(files.map((file) => loadInThread(file, {})))).toEqual(
    files.map((file) => loadConfig(file, {})),
  )
})

test('the configuration is frozen to the last value', async () => {
  const loaded = await loadInThread(fileWith(sandbox), {})

  const thawed: string[] = []
  const collect = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return
    if (!Object.isFrozen(value)) thawed.push(path)
    for (const [key, part] of Object.entries(value)) collect(part, `${path}.${key}`)
  }
  collect(loaded.ok ? loaded.config : null, 'config')

  expect(loaded.ok).toBe(true)
  expect(thawed).toEqual([])
})

test('the thread uses the given environment, and no other', async () => {
  const file = fileWith(`listen: { basePath: "\${BASE}" }\n${sandbox}`)

  const [given, none] = [await loadInThread(file, { BASE: '/v1' }), await loadInThread(file, {})]

  expect(given.ok && given.config.listen.basePath).toBe('/v1')
  expect(none).toMatchObject({ ok: false, problems: [{ path: 'listen.basePath' }] })
})

test('a load that took too long is over, though its thread was busy', async () => {
  expect(await loadInThread(fileWith(slowFile), {}, null, 1)).toMatchObject({ ok: false })
})

test('a load that takes too long is a problem of the file, whose digest is known; a standstill is one turn of many', async () => {
  const file = fileWith(sandbox)
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  // The thread gets no request, and never replies.
  let turns = 0
  const asked = vi.spyOn(Worker.prototype, 'postMessage').mockImplementationOnce(() => {
    for (; vi.getTimerCount() > 0; turns++) vi.advanceTimersToNextTimer()
  })
  onTestFinished(() => asked.mockRestore())

  const loaded = await loadInThread(file, {})

  expect(loaded).toMatchObject({
    ok: false,
    problems: [{ file, line: 1, message: 'it takes longer than 30s to read' }],
    sources: [{ file, digest: expect.stringMatching(/^[0-9a-f]{64}$/) }],
  })
  expect(turns).toBeGreaterThanOrEqual(10)
})

test('a file that hangs holds one thread of the pool, however often it is loaded; when it responds, a load succeeds', async () => {
  const file = fileWith(sandbox)
  const hanging = Promise.withResolvers<never>()
  const opened = vi.mocked(open).mockClear().mockReturnValueOnce(hanging.promise)

  const [one, other] = [await loadInThread(file, {}, null, 30), await loadInThread(file, {}, null, 30)]
  const calls = opened.mock.calls.length
  hanging.reject(new Error('EIO'))
  const next = await loadInThread(file, {})

  const message = 'it takes longer than 0.03s to read'
  expect(one).toMatchObject({ ok: false, problems: [{ message }], sources: [{ file, digest: null }] })
  expect(other).toEqual(one)
  expect(calls).toBe(1)
  expect(next.ok).toBe(true)
})

test('the thread ends five seconds after the last load, with the libraries that it has loaded', async () => {
  const terminate = vi.spyOn(Worker.prototype, 'terminate')
  const ended = (): number => terminate.mock.contexts.filter((thread) => threads.has(thread)).length
  const file = fileWith(sandbox)
  // The thread of a load of over a second is not kept.
  const countEndedByLoad = async () => {
    const before = ended()
    await loadInThread(file, {})
    return ended() - before
  }
  await expect.poll(countEndedByLoad).toBe(0)
  terminate.mockClear()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())

  await loadInThread(file, {})
  vi.advanceTimersByTime(4999)
  await loadInThread(file, {})
  vi.advanceTimersByTime(4999)
  const before = ended()
  vi.advanceTimersByTime(1)

  expect([before, ended()]).toEqual([0, 1])
})

test.each([
  ['no limit is known', 0, 135, 512],
  ['there is none', 2 ** 44, 135, 512],
  ['the limit of the examples leaves enough', 768, 135, 512],
  ['it leaves less under load', 768, 289, 383],
  ['it leaves little', 400, 289, 192],
  ['it leaves nothing', 256, 289, 192],
])('where %s, a limit of %i MiB and %i in use give the thread a heap of %i', (_, limit, resident, heap) => {
  expect(heapMib(limit * 1024 ** 2, resident * 1024 ** 2)).toBe(heap)
})
