/** Loads configurations one after another in a thread of its own, for `load-in-thread.ts`. */
import { dirname } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { serializeClients } from '../../../features/clients/serialize-clients.ts'
import { now } from '../../lib/clock.ts'
import type { Environment } from '../environment.ts'
import { type LoadResult, noContract, openConfig } from './load.ts'

export interface LoadRequest {
  readonly file: string
  readonly environment: Environment
}

export interface LoadReply {
  /** The result, without its clients. */
  readonly result: LoadResult
  /** The clients, serialized: the other thread would take long to receive thousands of objects at once. */
  readonly clients: readonly string[]
  /** Whether the load took unusually long: the thread may still hold the memory of it. */
  readonly shouldRetire: boolean
}

// An ordinary file takes a few hundredths of a second.
const ordinaryLoadMs = 1000

parentPort?.on('message', async ({ file, environment }: LoadRequest) => {
  const startedAt = now()
  const { contractName, complete } = openConfig(file, environment)
  const result = complete(contractName === undefined ? noContract : await loadContract(dirname(file), contractName))
  const clients = result.ok ? serializeClients(result.config.clients) : []
  const withoutClients = result.ok ? { ...result, config: { ...result.config, clients: [] } } : result
  const reply: LoadReply = { result: withoutClients, clients, shouldRetire: now() - startedAt > ordinaryLoadMs }
  parentPort?.postMessage(reply)
})

// Ajv and what else compiles contracts is a third of what this thread would load.
const loadContract = async (folder: string, name: string) =>
  (await import('../../../features/contract/compile/load-contract.ts')).loadContract(folder, name)
