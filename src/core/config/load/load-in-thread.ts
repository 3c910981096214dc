import { Worker } from 'node:worker_threads'
import { unrefTimeout } from '../../lib/clock.ts'
import { deepFreeze } from '../../lib/plain-object.ts'
import { readingThreads } from '../../lib/program.ts'
import { SerialQueue } from '../../lib/serial-queue.ts'
import { errorMessage } from '../../lib/try.ts'
import type { Config } from '../config.ts'
import type { Environment } from '../environment.ts'
import { fileProblem } from '../problem.ts'
import { unpackConfig } from '../transfer-parts.ts'
import type { LoadedConfig, LoadResult } from './load.ts'
import type { LoadReply, LoadRequest } from './load-thread.ts'
import { maxConfigBytes, readSourceFile, type SourceFile, toSourceFile } from './source-files.ts'

const script = new URL('../../../load-thread.ts', import.meta.url)

// An ordinary file takes a few hundredths of a second, on a machine that is starved some seconds. One made as an attack
// could take fifteen seconds, and gigabytes.
const withinMs = 30_000
// Where the process and its thread stand still, one step is lost, and not all of the time.
const limitSteps = 30
const maxHeapMib = 512
// 10,000 clients in YAML take 160.
const minHeapMib = 192
// What the thread takes beside that heap, 66, and the process for what it is sent.
const besideHeapMib = 96

/** The thread that waits for the next file: starting one takes ten times as long as reading a file. */
let idleThread: Worker | null = null

// Edits come in bursts. Between them, the libraries and the schema of the thread would hold tens of megabytes.
const maxIdleMs = 5_000
let cancelIdleTimer = (): void => {}

// One at a time: on a file system that hangs, each would hold one of the four threads of Node's pool.
const sourceReads = new SerialQueue()

/**
 * Does what `loadConfig` does, in a thread of its own: parsing and checking a large file takes time in which no request
 * would be served. Never throws; a load that takes longer than `limitMs` is a problem of the file. What is dear to send
 * and the same as in `running` is the same object. `onAsked`: from then on the thread goes on by itself.
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
      return resolve(failedResult(file, source, errorText(error)))
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
      finish(result.ok ? restore(result, packed, running) : result, !shouldRetire)
    }
    const onError = (error: NodeJS.ErrnoException): void =>
      finish(
        failedResult(file, error.code === 'ERR_WORKER_INIT_FAILED' ? withoutDigest(source) : source, errorText(error)),
      )
    const onExit = (): void => finish(failedResult(file, source, 'it cannot be read'))
    thread.on('message', onReply).on('error', onError).on('exit', onExit)
    void sourceReads.run(async () => {
      if (isOver) return
      // Before the thread reads it: an operator's edit during the load must be noticed.
      source = await readSourceFile(file, maxConfigBytes)
      if (isOver) return
      readingThreads.add(thread)
      thread.postMessage({ file, environment: { ...environment } } satisfies LoadRequest)
      onAsked()
    })
  })

/** Completes the configuration, in turns that leave the serving thread time for requests. */
const restore = async (
  result: LoadedConfig,
  packed: LoadReply['packed'],
  running: Config | null,
): Promise<LoadResult> => ({
  ...result,
  config: await unpackConfig({ config: deepFreeze(result.config), packed }, running),
})

/**
 * Returns how many MiB the heap of a thread that reads a file may take: half a gigabyte, or what the memory limit of
 * the service or container leaves beside what the process has. A file that takes more is refused, where the kernel
 * would end the process. A limit of 0 is not known, and a huge one is none.
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

/** Keeps one thread for the next file; the process does not wait for it. */
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

/** Marks a failure that is not the file's fault, such as a lack of threads: the watcher's next check tries again. */
const withoutDigest = (source: SourceFile): SourceFile => ({ ...source, digest: null })

const errorText = (error: unknown): string => `it cannot be read: ${errorMessage(error)}`
