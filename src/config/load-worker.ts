/** Loads configurations in a thread of its own, one after another, for `load-aside.ts`. */
import { parentPort } from 'node:worker_threads'
import { now } from '../clock.ts'
import { ClientFiles } from './client-file.ts'
import { piecesFor, type Sent } from './client-pieces.ts'
import type { Environment } from './environment.ts'
import { type LoadResult, readConfig } from './load.ts'

/** Is what the thread is asked for. */
export interface Asked {
  readonly file: string
  readonly environment: Environment
  /** The digests of the pieces of clients that the other thread has. */
  readonly has: readonly string[]
}

/** Is what it answers. */
export interface Told {
  /** Without its clients. */
  readonly result: LoadResult
  /** The clients: thousands of objects would take the other thread long to receive at once. */
  readonly clients: readonly Sent[]
  /** Whether it was no ordinary file: what it took to read it may still be held. */
  readonly spent: boolean
}

// An ordinary file takes a few hundredths of a second.
const ordinaryMs = 1000

/** An edit is of one file, and the others are as they were. */
const clientFiles = new ClientFiles()

parentPort?.on('message', ({ file, environment, has }: Asked) => {
  const startedAt = now()
  const result = readConfig(file, environment, clientFiles)
  clientFiles.done()
  const clients = result.ok ? piecesFor(result.config.clients, has) : []
  const bare = result.ok ? { ...result, config: { ...result.config, clients: [] } } : result
  const told: Told = { result: bare, clients, spent: now() - startedAt > ordinaryMs }
  parentPort?.postMessage(told)
})
