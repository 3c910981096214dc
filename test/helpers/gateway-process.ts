import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { configText, type Settings } from './gateway.ts'

/** What a process holds at a moment. */
export interface ProcessCensus {
  /** What each open descriptor is: `socket`, `pipe`, a file. */
  readonly descriptors: readonly string[]
  /** What keeps the event loop alive: sockets, servers, timers. */
  readonly resources: readonly string[]
  /** Log lines dropped. */
  readonly dropped: number
  readonly residentBytes: number
}

export type ChildRequest = 'census' | 'close'

export interface GatewayProcess {
  readonly child: ChildProcess
  readonly port: number
  /** Every handle of the gateway at this port throws. */
  readonly brokenPort: number
  /** The process's stdout, unread until the test reads it. Throws when it was given a descriptor instead. */
  readonly stdout: () => Readable
  census(): Promise<ProcessCensus>
  /** Asks it to close everything, and waits until it has ended of itself. */
  close(): Promise<number | null>
}

/**
 * Boots a gateway in a process of its own, and kills that when the test has finished. Its log goes to `stdout`, a
 * descriptor.
 */
export const bootGatewayProcess = async (
  settings: Settings,
  stdout: 'pipe' | number = 'pipe',
): Promise<GatewayProcess> => {
  const { gateway, started, kill } = startGatewayProcess(settings, stdout)
  onTestFinished(kill)
  await started
  return gateway
}

/** Boots one that the caller kills, for use in `beforeAll`. */
export const openGatewayProcess = async (
  settings: Settings,
): Promise<{ readonly gateway: GatewayProcess; readonly kill: () => void }> => {
  const { gateway, started, kill } = startGatewayProcess(settings, 'pipe')
  await started
  return { gateway, kill }
}

const startGatewayProcess = (settings: Settings, stdout: 'pipe' | number) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configText(settings))
  const script = fileURLToPath(new URL('gateway-child.ts', import.meta.url))
  const child = fork(script, [file], { stdio: ['ignore', stdout, 'inherit', 'ipc'], execArgv: [] })
  const kill = (): void => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  }
  const died = once(child, 'exit').then(() => {
    throw new Error('the gateway did not start')
  })
  died.catch(() => {})
  let ports = { port: 0, brokenPort: 0 }
  const started = Promise.race([once(child, 'message'), died]).then(([told]) => {
    ports = told
  })
  const gateway: GatewayProcess = {
    child,
    get port() {
      return ports.port
    },
    get brokenPort() {
      return ports.brokenPort
    },
    stdout() {
      if (child.stdout === null) throw new Error('the child has no stdout of its own')
      return child.stdout
    },
    async census() {
      const response = once(child, 'message')
      child.send('census' satisfies ChildRequest)
      const [taken] = await response
      return taken as ProcessCensus
    },
    async close() {
      const exit = once(child, 'exit')
      child.send('close' satisfies ChildRequest)
      const [code] = await exit
      return code as number | null
    },
  }
  return { gateway, started, kill }
}
