/** Loads configurations in a thread of its own, one after another, for `load-aside.ts`. */
import { parentPort } from 'node:worker_threads'
import { now } from '../clock.ts'
import type { Environment } from './environment.ts'
import { type LoadResult, loadConfig } from './load.ts'

/** Is what the thread is asked for. */
export interface Asked {
  readonly file: string
  readonly environment: Environment
}

/** Is what it answers. */
export interface Told {
  readonly result: LoadResult
  /** Whether it was no ordinary file: what it took to read it may still be held. */
  readonly spent: boolean
}

// An ordinary file takes a few hundredths of a second.
const ordinaryMs = 1000

parentPort?.on('message', ({ file, environment }: Asked) => {
  const startedAt = now()
  const result = loadConfig(file, environment)
  const told: Told = { result, spent: now() - startedAt > ordinaryMs }
  parentPort?.postMessage(told)
})
