/** Loads configurations one after another in a thread of its own, for `load-in-thread.ts`. */
import { dirname } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { now } from '../../lib/clock.ts'
import type { ReadNamedFile } from '../config-part.ts'
import type { Environment } from '../environment.ts'
import { type PackedConfig, packConfig } from '../transfer-parts.ts'
import { type LoadResult, openConfig } from './load.ts'

export interface LoadRequest {
  readonly file: string
  readonly environment: Environment
}

export interface LoadReply {
  readonly result: LoadResult
  /** What features have taken out of the result: the other thread would take long to receive all at once. */
  readonly packed: PackedConfig['packed']
  /** Whether the load took unusually long: the thread may still hold the memory of it. */
  readonly shouldRetire: boolean
}

// An ordinary file takes a few hundredths of a second.
const ordinaryLoadMs = 1000

parentPort?.on('message', async ({ file, environment }: LoadRequest) => {
  const startedAt = now()
  const { named, complete } = openConfig(file, environment)
  const read: ReturnType<ReadNamedFile>[] = []
  for (const each of named) read.push((await each.file.load())(dirname(file), each.name))
  const result = complete(read)
  const { config, packed } = result.ok ? packConfig(result.config, 'thread') : { config: null, packed: [] }
  const sent = result.ok && config !== null ? { ...result, config } : result
  const reply: LoadReply = { result: sent, packed, shouldRetire: now() - startedAt > ordinaryLoadMs }
  parentPort?.postMessage(reply)
})
