/** Loads configurations in a thread of its own, one after another, for `load-aside.ts`. */
import { parentPort } from 'node:worker_threads'
import { now } from '../../clock.ts'
import type { Environment } from '../environment.ts'
import { type LoadResult, readConfig } from './load.ts'
import { serializeClients } from './serialize-clients.ts'

/** Is what the thread is asked for. */
export interface LoadRequest {
  readonly file: string
  readonly environment: Environment
}

/** Is what it answers. */
export interface LoadReply {
  /** Without its clients. */
  readonly result: LoadResult
  /** The clients, as texts: thousands of objects would take the other thread long to receive at once. */
  readonly clients: readonly string[]
  /** Whether it was no ordinary file: what it took to read it may still be held. */
  readonly shouldRetire: boolean
}

// An ordinary file takes a few hundredths of a second.
const ordinaryLoadMs = 1000

parentPort?.on('message', ({ file, environment }: LoadRequest) => {
  const startedAt = now()
  const result = readConfig(file, environment)
  const clients = result.ok ? serializeClients(result.config.clients) : []
  const withoutClients = result.ok ? { ...result, config: { ...result.config, clients: [] } } : result
  const reply: LoadReply = { result: withoutClients, clients, shouldRetire: now() - startedAt > ordinaryLoadMs }
  parentPort?.postMessage(reply)
})
