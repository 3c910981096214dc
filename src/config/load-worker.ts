/** Loads configurations in a thread of its own, one after another, for `load-aside.ts`. */
import { parentPort } from 'node:worker_threads'
import { now } from '../clock.ts'
import { textsOf } from './client-texts.ts'
import type { Environment } from './environment.ts'
import { type LoadResult, readConfig } from './load.ts'

/** Is what the thread is asked for. */
export interface Asked {
  readonly file: string
  readonly environment: Environment
}

/** Is what it answers. */
export interface Told {
  /** Without its clients. */
  readonly result: LoadResult
  /** The clients, as texts: thousands of objects would take the other thread long to receive at once. */
  readonly clients: readonly string[]
  /** Whether it was no ordinary file: what it took to read it may still be held. */
  readonly spent: boolean
}

// An ordinary file takes a few hundredths of a second.
const ordinaryMs = 1000

parentPort?.on('message', ({ file, environment }: Asked) => {
  const startedAt = now()
  const result = readConfig(file, environment)
  const clients = result.ok ? textsOf(result.config.clients) : []
  const bare = result.ok ? { ...result, config: { ...result.config, clients: [] } } : result
  const told: Told = { result: bare, clients, spent: now() - startedAt > ordinaryMs }
  parentPort?.postMessage(told)
})
