import { Worker } from 'node:worker_threads'
import type { Environment } from './environment.ts'
import type { LoadResult } from './load.ts'
import type { Problem } from './problem.ts'
import { deepFreeze } from './resolve.ts'
import { maxFileBytes, sourceNow } from './sources.ts'

const script = new URL('./load-worker.ts', import.meta.url)

// An ordinary file takes a tenth of a second; one that is made to hurt could take fifteen, and gigabytes.
const withinMs = 10_000
const maxMegabytes = 512

/**
 * Does what `loadConfig` does, in a thread of its own: to parse and check a large file takes time in which no request would be
 * served. Never throws; what takes longer than `limitMs` is a problem of the file.
 */
export const loadAside = (file: string, environment: Environment, limitMs = withinMs): Promise<LoadResult> =>
  new Promise((resolve) => {
    const worker = new Worker(script, {
      workerData: { file, environment: { ...environment } },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
    })
    let ended = false
    // A result is made only for the first event: the exit that follows each would read the file once more, in this thread.
    const end = (make: () => LoadResult): void => {
      if (ended) return
      ended = true
      clearTimeout(timer)
      void worker.terminate()
      resolve(make())
    }
    const timer = setTimeout(() => end(() => failed(file, `it takes longer than ${limitMs / 1000}s to read`)), limitMs)
    worker.once('message', (result: LoadResult) =>
      end(() => (result.ok ? { ...result, config: deepFreeze(result.config) } : result)),
    )
    worker.once('error', (error) => end(() => failed(file, `it cannot be read: ${error.message}`)))
    worker.once('exit', () => end(() => failed(file, 'it cannot be read')))
  })

/** Makes the result for a file that could not be read to the end. */
const failed = (file: string, message: string): LoadResult => {
  const expected = 'a configuration file of ordinary size'
  const problem: Problem = { file, line: 1, column: 1, path: '', expected, found: 'another one', message }
  return { ok: false, problems: [problem], unreadable: false, sources: [sourceNow(file, maxFileBytes)] }
}
