import { Worker } from 'node:worker_threads'
import { later } from '../clock.ts'
import { clientsFrom } from './client-texts.ts'
import type { ClientConfig } from './config.ts'
import type { Environment } from './environment.ts'
import { deepFreeze } from './freeze.ts'
import type { LoadResult } from './load.ts'
import type { Asked, Told } from './load-worker.ts'
import { whole } from './problem.ts'
import { maxFileBytes, type SourceFile, sourceNow } from './sources.ts'

const script = new URL('./load-worker.ts', import.meta.url)

// An ordinary file takes a few hundredths of a second; one that is made to hurt could take fifteen, and gigabytes.
const withinMs = 10_000
const maxMegabytes = 512

/** The thread that waits for the next file: to start one takes ten times as long as to read a file. */
let idle: Worker | null = null

// Edits come in bursts. Between them its libraries and their schema would be tens of megabytes that do nothing.
const keptMs = 5_000
let endIdle = (): void => {}

/**
 * Does what `loadConfig` does, in a thread of its own: to parse and check a large file takes time in which no request would be
 * served. Never throws; what takes longer than `limitMs` is a problem of the file. Clients that are as in `running` are the very same.
 */
export const loadAside = (
  file: string,
  environment: Environment,
  running: readonly ClientConfig[] = [],
  limitMs = withinMs,
): Promise<LoadResult> =>
  new Promise((resolve) => {
    // As it is now: whoever mends it while it is being read wants that to be noticed.
    const source = sourceNow(file, maxFileBytes)
    let worker: Worker
    try {
      worker = takeThread()
    } catch (error) {
      return resolve(failed(file, unread(source), message(error)))
    }
    const end = (result: LoadResult | Promise<LoadResult>, usable = false): void => {
      clearTimeout(timer)
      worker.off('message', told).off('error', broken).off('exit', gone)
      if (usable) keepThread(worker)
      else endThread(worker)
      resolve(result)
    }
    const timer = setTimeout(
      () => end(failed(file, source, `it takes longer than ${limitMs / 1000}s to read`)),
      limitMs,
    )
    const told = ({ result, clients, spent }: Told): void =>
      end(result.ok ? completed(result, clients, running) : result, !spent)
    const broken = (error: NodeJS.ErrnoException): void =>
      end(failed(file, error.code === 'ERR_WORKER_INIT_FAILED' ? unread(source) : source, message(error)))
    const gone = (): void => end(failed(file, source, 'it cannot be read'))
    worker.on('message', told).on('error', broken).on('exit', gone)
    worker.postMessage({ file, environment: { ...environment } } satisfies Asked)
  })

/** Puts the clients in their place again, as the thread that serves has time. */
const completed = async (
  result: Extract<LoadResult, { ok: true }>,
  texts: readonly string[],
  running: readonly ClientConfig[],
): Promise<LoadResult> => {
  const clients = await clientsFrom(texts, running)
  return { ...result, config: Object.freeze({ ...deepFreeze(result.config), clients }) }
}

const takeThread = (): Worker => {
  const kept = idle
  idle = null
  endIdle()
  if (kept === null)
    return new Worker(script, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: maxMegabytes } })
  kept.off('error', forget).off('exit', forget)
  kept.ref()
  return kept
}

/** Keeps a thread for the next file, one at most; the process does not wait for it. */
const keepThread = (worker: Worker): void => {
  if (idle !== null) return endThread(worker)
  idle = worker
  endIdle = later(keptMs, () => {
    if (idle === worker) idle = null
    endThread(worker)
  })
  worker.unref()
  worker.on('error', forget).on('exit', forget)
}

const forget = (): void => {
  idle = null
}

const endThread = (worker: Worker): void => {
  worker.on('error', () => {}) // its end is all that is wanted
  void worker.terminate()
}

/** Makes the result for a file that could not be read to the end. */
const failed = (file: string, source: SourceFile, message: string): LoadResult => {
  const problem = whole(file, message, 'a configuration file of ordinary size', 'another one')
  return { ok: false, problems: [problem], unreadable: false, sources: [source] }
}

/** Is not the file's fault, such as a process that may have no more threads: at the next look it is tried again. */
const unread = (source: SourceFile): SourceFile => ({ ...source, digest: null })

const message = (error: unknown): string =>
  `it cannot be read: ${error instanceof Error ? error.message : String(error)}`
