import { Worker } from 'node:worker_threads'
import { unrefTimeout } from '../../lib/clock.ts'
import { deepFreeze } from '../../lib/plain-object.ts'
import { readingThreads } from '../../lib/program.ts'
import { SerialQueue } from '../../lib/serial-queue.ts'
import { errorMessage } from '../../lib/try.ts'
import type { Config } from '../config.ts'
import type { Environment } from '../environment.ts'
import { fileProblem } from '../problem.ts'
import { type PackedConfig, unpackConfig } from '../transfer-parts.ts'
import type { LoadResult } from './load.ts'
import { maxConfigBytes, readSourceFile, type SourceFile, toSourceFile } from './source-files.ts'

export interface LoadRequest {
  readonly file: string
  readonly environment: Environment
}

export interface LoadReply {
  readonly result: LoadResult
  /** Parts that features took out of the result: receiving all at once would block the other thread. */
  readonly packed: PackedConfig['packed']
  /** The load took over a second: the thread may still hold its memory. */
  readonly shouldRetire: boolean
}

const script = new URL('../../../load-thread.ts', import.meta.url)

// An ordinary file takes hundredths of a second, seconds on a starved machine; an attack's file 15 s and gigabytes.
const withinMs = 30_000
// A stalled process loses one step of the limit, not all of it.
const limitSteps = 30
const maxHeapMib = 512
// 10,000 clients in YAML take 160 MiB.
const minHeapMib = 192
// The thread takes 66 MiB beside its heap; the process needs the rest to receive the configuration.
const besideHeapMib = 96

/** Starting a thread takes ten times as long as reading a file. */
let idleThread: Worker | null = null

// Edits come in bursts; between them, the thread's libraries and schema would hold tens of megabytes.
const maxIdleMs = 5_000
let cancelIdleTimer = (): void => {}

// One read at a time: on a hung file system each read would hold one of the four threads of Node's pool.
const sourceReads = new SerialQueue()

/**
 * Does what `loadConfig` does, in a thread: a large file would stop the serving of requests. Never throws; a load over
 * `limitMs` is a problem of the file. Parts that are dear to send and equal in `running` are the same objects.
 * `onAsked`: from then on the thread works by itself.
 */
export const loadInThread = (
  file: string,
  environment: Environment,
  running: Config | null = null,
  limitMs = withinMs,
  onAsked: () => void = () => {},
): Promise<LoadResult> =>
  new Promise((resolve) => {
    let source = toSourceFile(file, null, maxConfigBytes)
    let thread: Worker
    try {
      thread = acquireThread()
    } catch (error) {
      return resolve(failedResult(file, source, `it cannot be read: ${errorMessage(error)}`))
    }
    let isOver = false
    const finish = (result: LoadResult | Promise<LoadResult>, isReusable = false): void => {
      isOver = true
      clearInterval(timer)
      thread.off('message', onReply).off('error', onError).off('exit', onExit)
      if (isReusable) releaseThread(thread)
      else terminateThread(thread)
      resolve(result)
    }
    let stepsLeft = limitSteps
    const timer = setInterval(() => {
      if (--stepsLeft === 0) finish(failedResult(file, source, `it takes longer than ${limitMs / 1000}s to read`))
    }, limitMs / limitSteps)
    const onReply = ({ result, packed, shouldRetire }: LoadReply): void => {
      readingThreads.delete(thread)
      if (!result.ok) return finish(result, !shouldRetire)
      // In turns that leave the serving thread time for requests. Async: what a listener throws ends the process.
      const restore = async () => unpackConfig({ config: deepFreeze(result.config), packed }, running)
      const restored = restore().then((config) => ({ ...result, config }))
      finish(restored, !shouldRetire)
    }
    const onError = (error: NodeJS.ErrnoException): void => {
      // No fault of the file's, such as a lack of threads: without a digest, the watcher's next check tries again.
      if (error.code === 'ERR_WORKER_INIT_FAILED') source = toSourceFile(file, null, maxConfigBytes)
      finish(failedResult(file, source, `it cannot be read: ${errorMessage(error)}`))
    }
    const onExit = (): void => finish(failedResult(file, source, 'it cannot be read'))
    thread.on('message', onReply).on('error', onError).on('exit', onExit)
    void sourceReads.run(async () => {
      if (isOver) return
      // Before the thread reads the file, so that an edit during the load is noticed.
      source = await readSourceFile(file, maxConfigBytes)
      if (isOver) return
      readingThreads.add(thread)
      thread.postMessage({ file, environment: { ...environment } } satisfies LoadRequest)
      onAsked()
    })
  })

/**
 * Returns MiB: 512, or the room that the memory limit of the service or container leaves. A file that needs more is
 * rejected; without this limit the kernel would end the process. A `limitBytes` of 0 is unknown, a huge one no limit.
 */
export const heapMib = (limitBytes: number, residentBytes: number): number => {
  const left = Math.floor((limitBytes - residentBytes) / 1024 ** 2) - besideHeapMib
  return limitBytes === 0 ? maxHeapMib : Math.min(maxHeapMib, Math.max(minHeapMib, left))
}

const acquireThread = (): Worker => {
  const reused = idleThread
  idleThread = null
  cancelIdleTimer()
  if (reused === null) {
    const maxOldGenerationSizeMb = heapMib(process.constrainedMemory(), process.memoryUsage.rss())
    const thread = new Worker(script, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb } })
    return thread.once('exit', () => readingThreads.delete(thread))
  }
  reused.off('error', forgetIdleThread).off('exit', forgetIdleThread)
  reused.ref()
  return reused
}

const releaseThread = (thread: Worker): void => {
  if (idleThread !== null) return terminateThread(thread)
  idleThread = thread
  cancelIdleTimer = unrefTimeout(maxIdleMs, () => {
    if (idleThread === thread) idleThread = null
    terminateThread(thread)
  })
  thread.unref()
  thread.on('error', forgetIdleThread).on('exit', forgetIdleThread)
}

const forgetIdleThread = (): void => {
  idleThread = null
}

const terminateThread = (thread: Worker): void => {
  thread.on('error', () => {}) // an unhandled error of a dying thread would end the process
  void thread.terminate()
}

const failedResult = (file: string, source: SourceFile, message: string): LoadResult => {
  const problem = fileProblem(file, message, 'a configuration file of ordinary size', 'another one')
  return { ok: false, problems: [problem], unreadable: false, sources: [source], isCutShort: true }
}
