import './features/installed.ts'
import { parentPort } from 'node:worker_threads'
import { readConfig } from './core/config/load/load.ts'
import type { LoadReply, LoadRequest } from './core/config/load/load-in-thread.ts'
import { packConfig } from './core/config/transfer-parts.ts'
import { now } from './core/lib/clock.ts'

const ordinaryLoadMs = 1000

parentPort?.on('message', async ({ file, environment }: LoadRequest) => {
  const startedAt = now()
  const result = await readConfig(file, environment)
  const { config, packed } = result.ok ? packConfig(result.config, 'thread') : { config: null, packed: [] }
  const sent = result.ok && config !== null ? { ...result, config } : result
  const reply: LoadReply = { result: sent, packed, shouldRetire: now() - startedAt > ordinaryLoadMs }
  parentPort?.postMessage(reply)
})
