/** Keeps connections open beside the load. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { start } from './process.ts'
import { requestText } from './request-text.ts'
import type { Workload } from './workload.ts'

export interface IdleConnections {
  /** Closes them; returns how many the peer had closed by then. */
  readonly close: () => Promise<number>
}

/** Opens `count` connections that make one request each and then stay. */
export const openIdle = async (port: number, workload: Workload, count: number): Promise<IdleConnections> => {
  if (count === 0) return { close: async () => 0 }
  const worker = join(import.meta.dirname, 'idle-worker.ts')
  const args = [worker, String(port), requestText(port, workload), String(count)]
  const child = await start({ path: process.execPath, args }, ['pipe', 'pipe', 'inherit'])
  await line(child)
  const close = async (): Promise<number> => {
    const last = line(child)
    child.stdin?.end()
    return count - Number(await last)
  }
  return { close }
}

const line = async (child: ChildProcess): Promise<string> => {
  if (child.stdout === null) throw new Error('the worker has no stdout')
  const [text] = await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => {
      throw new Error('the worker that holds idle connections ended')
    }),
  ])
  return String(text).trim()
}
