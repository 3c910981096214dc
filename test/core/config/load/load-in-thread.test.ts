import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { loadConfig } from '../../../../src/core/config/load/load-config.ts'
import { loadInThread } from '../../../../src/core/config/load/load-in-thread.ts'
import { heapMib } from '../../../../src/core/config/load/reading-thread.ts'
import { findChangedFiles } from '../../../../src/core/config/load/source-files.ts'
import { folderWith, sandbox, slowFile } from '../helper.ts'

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>()
  return { ...real, open: vi.fn(real.open) }
})
const machine = vi.hoisted(() => ({ hasThreads: true }))
vi.mock('node:worker_threads', async (original) => {
  const real = await original<typeof import('node:worker_threads')>()
  class Thread extends real.Worker {
    constructor(...args: ConstructorParameters<typeof real.Worker>) {
      if (!machine.hasThreads) throw new Error('Worker initialization failure: EAGAIN')
      super(...args)
    }
  }
  return { ...real, Worker: Thread }
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

/** Has the next thread get no request: what is done in its place takes all the time that a load has. */
const takeTooLong = (during: () => void): void => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const asked = vi.spyOn(Worker.prototype, 'postMessage').mockImplementationOnce(during)
  onTestFinished(() => {
    vi.useRealTimers()
    asked.mockRestore()
  })
}

test('a load that takes too long is a problem of the file, whose digest is known; a standstill is one turn of many', async () => {
  const file = fileWith(sandbox)
  let turns = 0
  takeTooLong(() => {
    for (; vi.getTimerCount() > 0; turns++) vi.advanceTimersToNextTimer()
  })

  const loaded = await loadInThread(file, {})

  expect(loaded).toMatchObject({
    ok: false,
    problems: [{ file, line: 1, message: 'the file takes longer than 30s to read' }],
    sources: [{ file, digest: expect.stringMatching(/^[0-9a-f]{64}$/) }],
  })
  expect(turns).toBeGreaterThanOrEqual(10)
})

test('an edit of a file that takes too long to read is not taken for what was read', async () => {
  const file = fileWith(sandbox)
  takeTooLong(() => {
    writeFileSync(file, `${sandbox}# mended`)
    vi.advanceTimersByTime(30_000)
  })

  const { ok, sources } = await loadInThread(file, {})

  expect([ok, await findChangedFiles(sources)]).toEqual([false, [file]])
})

// The attack: the machine, or the limit on processes of the container, has no thread left when the file is read again.
// `new Worker` then throws on the spot, and a rejection without a handler ends the process.
test('a thread that cannot be started is a problem of the reload, and the next one is as good as any', async () => {
  const file = fileWith(sandbox)
  machine.hasThreads = false
  const starved = await loadInThread(file, {})
  machine.hasThreads = true

  expect(starved).toMatchObject({ ok: false, problems: [{ message: expect.stringContaining('EAGAIN') }] })
  expect(await findChangedFiles(starved.sources)).toEqual([file]) // so it is tried again at the next look
  expect((await loadInThread(file, {})).ok).toBe(true)
})

test('a file that hangs holds one thread of the pool, however often it is loaded; when it responds, a load succeeds', async () => {
  const file = fileWith(sandbox)
  const hanging = Promise.withResolvers<never>()
  const opened = vi.mocked(open).mockClear().mockReturnValueOnce(hanging.promise)

  const [one, other] = [await loadInThread(file, {}, null, 30), await loadInThread(file, {}, null, 30)]
  const calls = opened.mock.calls.length
  hanging.reject(new Error('EIO'))
  const next = await loadInThread(file, {})

  const message = 'the file takes longer than 0.03s to read'
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
