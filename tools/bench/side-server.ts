/** Starts what stands beside a gateway: a server of its own that prints its port. */
import { join } from 'node:path'
import { start, stop } from './process.ts'

/** A server beside the peer. */
export interface SideServer {
  readonly port: number
  stop(): Promise<void>
}

/** Starts a script of this folder. */
export const startSideServer = async (script: string, ...args: readonly string[]): Promise<SideServer> => {
  const command = { path: process.execPath, args: [join(import.meta.dirname, script), ...args] }
  const child = await start(command, ['ignore', 'pipe', 'inherit'])
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout?.once('data', (line) => resolve(Number(line)))
    child.once('exit', () => reject(new Error(`${script} did not start`)))
  })
  return { port, stop: () => stop(child) }
}

/** Where a server that takes spans takes them. */
export const spansUrl = ({ port }: SideServer): string => `http://127.0.0.1:${port}/v1/traces`

/** Names the server that takes spans. */
export const spanServer = 'layers/span-server.ts'
