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
  /** Parts that features took out of the result: receiving all at once would block the other thread. */
  readonly packed: PackedConfig['packed']
  /** The load took over a second: the thread may still hold its memory. */
  readonly shouldRetire: boolean
}

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
