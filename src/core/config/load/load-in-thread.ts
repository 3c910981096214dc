import type { Worker } from 'node:worker_threads'
import { deepFreeze } from '../../lib/plain-object.ts'
import { readingThreads } from '../../lib/program.ts'
import { SerialQueue } from '../../lib/serial-queue.ts'
import { errorMessage } from '../../lib/try.ts'
import type { Config } from '../config.ts'
import type { Environment } from '../environment.ts'
import { fileProblem } from '../problem.ts'
import { type PackedConfig, unpackConfig } from '../transfer-parts.ts'
import type { LoadResult } from './load.ts'
import { acquireThread, releaseThread, terminateThread } from './reading-thread.ts'
import { maxConfigBytes, readSourceFile, type SourceFile, toSourceFile } from './source-files.ts'

export interface LoadRequest {
  readonly file: string
  readonly environment: Environment
}

export interface LoadReply {
  readonly result: LoadResult
  readonly packed: PackedConfig['packed']
  readonly shouldRetire: boolean
}

// An ordinary file takes 10–100 ms, on a starved machine seconds; a hostile file took 15 s and gigabytes.
const withinMs = 30_000
// A process that was suspended loses one step of the limit, not all of it.
const limitSteps = 30

// On a hung file system, each read would hold one of the four threads of Node's pool.
const sourceReads = new SerialQueue()

/**
 * Like `loadConfig`, in a thread, because a large file would stop the serving of requests. Never throws. A load over
 * `limitMs` is a problem of the file. Large parts that equal those of `running` are the same objects. `onAsked` is
 * called when the thread needs nothing more from this process.
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
      return resolve(failedResult(file, source, `the file cannot be read: ${errorMessage(error)}`))
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
      if (--stepsLeft === 0) finish(failedResult(file, source, `the file takes longer than ${limitMs / 1000}s to read`))
    }, limitMs / limitSteps)
    const onReply = ({ result, packed, shouldRetire }: LoadReply): void => {
      readingThreads.delete(thread)
      if (!result.ok) return finish(result, !shouldRetire)
      // In several turns, so that requests are served meanwhile. Async: an error thrown in a listener would end the
      // process.
      const restore = async () => unpackConfig({ config: deepFreeze(result.config), packed }, running)
      const restored = restore().then((config) => ({ ...result, config }))
      finish(restored, !shouldRetire)
    }
    const onError = (error: NodeJS.ErrnoException): void => {
      // Not the file's fault, such as a lack of threads. Without a digest, the watcher's next check tries again.
      if (error.code === 'ERR_WORKER_INIT_FAILED') source = toSourceFile(file, null, maxConfigBytes)
      finish(failedResult(file, source, `the file cannot be read: ${errorMessage(error)}`))
    }
    const onExit = (): void =>
      finish(failedResult(file, source, 'the file cannot be read: the thread that reads it has ended'))
    thread.on('message', onReply).on('error', onError).on('exit', onExit)
    void sourceReads.run(async () => {
      if (isOver) return
      // Read before the thread reads the file, so that an edit during the load is noticed.
      source = await readSourceFile(file, maxConfigBytes)
      if (isOver) return
      readingThreads.add(thread)
      thread.postMessage({ file, environment: { ...environment } } satisfies LoadRequest)
      onAsked()
    })
  })

const failedResult = (file: string, source: SourceFile, message: string): LoadResult => {
  const problem = fileProblem(
    file,
    message,
    'a configuration file of ordinary size',
    'a larger file, or too little CPU or memory',
  )
  return { ok: false, problems: [problem], unreadable: false, sources: [source], isCutShort: true }
}
