import { Worker } from 'node:worker_threads'
import { unrefTimeout } from '../../clock.ts'
import type { ClientConfig } from '../config.ts'
import { deepFreeze } from '../deep-freeze.ts'
import type { Environment } from '../environment.ts'
import { fileProblem } from '../problem.ts'
import type { LoadResult } from './load.ts'
import type { LoadReply, LoadRequest } from './load-thread.ts'
import { deserializeClients } from './serialize-clients.ts'
import { maxConfigBytes, readSourceFile, type SourceFile } from './source-files.ts'

const script = new URL('./load-thread.ts', import.meta.url)

// An ordinary file takes a few hundredths of a second; one that is made to hurt could take fifteen, and gigabytes.
const withinMs = 10_000
const maxMegabytes = 512

/** The thread that waits for the next file: to start one takes ten times as long as to read a file. */
let idleThread: Worker | null = null

// Edits come in bursts. Between them its libraries and their schema would be tens of megabytes that do nothing.
const maxIdleMs = 5_000
let cancelIdleTimer = (): void => {}

/**
 * Does what `loadConfig` does, in a thread of its own: to parse and check a large file takes time in which no request would be
 * served. Never throws; what takes longer than `timeoutMs` is a problem of the file. Clients that are as in `running` are the very same.
 */
export const loadInThread = (
  file: string,
  environment: Environment,
  running: readonly ClientConfig[] = [],
  limitMs = withinMs,
): Promise<LoadResult> =>
  new Promise((resolve) => {
    // As it is now: whoever mends it while it is being read wants that to be noticed.
    const source = readSourceFile(file, maxConfigBytes)
    let thread: Worker
    try {
      thread = acquireThread()
    } catch (error) {
      return resolve(failedResult(file, withoutDigest(source), errorText(error)))
    }
    const finish = (result: LoadResult | Promise<LoadResult>, isReusable = false): void => {
      clearTimeout(timer)
      thread.off('message', onReply).off('error', onError).off('exit', onExit)
      if (isReusable) releaseThread(thread)
      else terminateThread(thread)
      resolve(result)
    }
    const timer = setTimeout(
      () => finish(failedResult(file, source, `it takes longer than ${limitMs / 1000}s to read`)),
      limitMs,
    )
    const onReply = ({ result, clients, shouldRetire }: LoadReply): void =>
      finish(result.ok ? restoreClients(result, clients, running) : result, !shouldRetire)
    const onError = (error: NodeJS.ErrnoException): void =>
      finish(
        failedResult(file, error.code === 'ERR_WORKER_INIT_FAILED' ? withoutDigest(source) : source, errorText(error)),
      )
    const onExit = (): void => finish(failedResult(file, source, 'it cannot be read'))
    thread.on('message', onReply).on('error', onError).on('exit', onExit)
    thread.postMessage({ file, environment: { ...environment } } satisfies LoadRequest)
  })

/** Puts the clients in their place again, as the thread that serves has time. */
const restoreClients = async (
  result: Extract<LoadResult, { ok: true }>,
  texts: readonly string[],
  running: readonly ClientConfig[],
): Promise<LoadResult> => {
  const clients = await deserializeClients(texts, running)
  return { ...result, config: Object.freeze({ ...deepFreeze(result.config), clients }) }
}

const acquireThread = (): Worker => {
  const reused = idleThread
  idleThread = null
  cancelIdleTimer()
  if (reused === null)
    return new Worker(script, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: maxMegabytes } })
  reused.off('error', forgetIdleThread).off('exit', forgetIdleThread)
  reused.ref()
  return reused
}

/** Keeps a thread for the next file, one at most; the process does not wait for it. */
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
  thread.on('error', () => {}) // its end is all that is wanted
  void thread.terminate()
}

/** Makes the result for a file that could not be read to the end. */
const failedResult = (file: string, source: SourceFile, message: string): LoadResult => {
  const problem = fileProblem(file, message, 'a configuration file of ordinary size', 'another one')
  return { ok: false, problems: [problem], unreadable: false, sources: [source] }
}

/** Is not the file's fault, such as a process that may have no more threads: at the next look it is tried again. */
const withoutDigest = (source: SourceFile): SourceFile => ({ ...source, digest: null })

const errorText = (error: unknown): string =>
  `it cannot be read: ${error instanceof Error ? error.message : String(error)}`
