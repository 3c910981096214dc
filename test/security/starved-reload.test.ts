import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { loadInThread } from '../../src/core/config/load/load-in-thread.ts'
import { findChangedFiles } from '../../src/core/config/load/source-files.ts'
import { configText } from '../helpers/gateway.ts'

// The attack: the machine, or the limit on processes of the container, has no thread left when the file is read again.
// `new Worker` then throws on the spot, and a rejection without a handler ends the process. Or the file takes too long
// to read, and is mended meanwhile.
vi.mock('node:worker_threads', async (original) => {
  const { Worker: real, ...more } = await original<typeof import('node:worker_threads')>()
  return { ...more, Worker: vi.fn(real) }
})

beforeEach(() => void vi.mocked(Worker).mockClear())

const configured = (text = configText()): string => {
  const folder = mkdtempSync(join(tmpdir(), 'starved-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, text)
  return file
}

test('a thread that cannot be started is a problem of the reload, and the next one is as good as any', async () => {
  const file = configured()
  vi.mocked(Worker).mockImplementationOnce(function starved() {
    throw new Error('Worker initialization failure: EAGAIN')
  })

  const starved = await loadInThread(file, {})
  const next = await loadInThread(file, {})

  expect(starved).toMatchObject({ ok: false, problems: [{ message: expect.stringContaining('EAGAIN') }] })
  expect(await findChangedFiles(starved.sources)).toEqual([file]) // so it is tried again at the next look
  expect(next.ok).toBe(true)
})

test('an edit of a file that takes too long to read is not taken for what was read', async () => {
  const file = configured()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { prototype } = (await vi.importActual<typeof import('node:worker_threads')>('node:worker_threads')).Worker
  const asked = vi.spyOn(prototype, 'postMessage').mockImplementationOnce(() => {
    writeFileSync(file, `${configText()}# mended`)
    vi.advanceTimersByTime(30_000)
  })
  onTestFinished(() => asked.mockRestore())

  const { ok, sources } = await loadInThread(file, {})

  expect(asked).toHaveBeenCalledOnce()
  expect(ok).toBe(false)
  expect(await findChangedFiles(sources)).toEqual([file])
})
