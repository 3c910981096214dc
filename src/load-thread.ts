/** Loads configurations in a thread of its own. */
import './features/installed.ts'
import { dirname } from 'node:path'
import { parentPort } from 'node:worker_threads'
import type { ReadNamedFile } from './core/config/config-part.ts'
import { openConfig } from './core/config/load/load.ts'
import type { LoadReply, LoadRequest } from './core/config/load/load-in-thread.ts'
import { packConfig } from './core/config/transfer-parts.ts'
import { now } from './core/lib/clock.ts'

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
