/** Starts and ends the processes of the bench, by their ids only. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pair } from '../../test/helpers/certificates.ts'
import { endProcess } from '../../test/helpers/end-process.ts'
import { freePort } from '../../test/helpers/free-port.ts'
import { requestPeer } from './request-peer.ts'

/** What clients speak to a peer. */
export type Speech = 'http' | 'https' | 'h2'

export interface Running {
  readonly pid: number
  readonly port: number
  readonly speaks: Speech
  /** What clients show of themselves, where they are asked for a certificate; null: they are not. */
  readonly shows?: Pair | null
  /** Holds the access log: the process's stdout, or a file that it opened itself. */
  readonly logFile: string
  readonly stop: () => Promise<void>
}

export interface Command {
  readonly path: string
  readonly args: readonly string[]
  /** What is set beside the environment of the bench. */
  readonly env?: NodeJS.ProcessEnv
}

/** Longer than a graceful shutdown of the gateway takes. */
const stopTimeoutMs = 40_000
const startTimeoutMs = 15_000

const running = new Set<ChildProcess>()

/** Ends all that is still running at once, for when the bench itself is stopped. */
export const killAll = (): void => {
  for (const child of running) child.kill('SIGKILL')
}

/** Starts a process that is watched until it ends. Throws when it cannot be started. */
export const start = (command: Command, stdio: StdioOptions): Promise<ChildProcess> =>
  new Promise((resolve, reject) => {
    const env = { ...process.env, NODE_ENV: 'production', ...command.env }
    const child = spawn(command.path, command.args, { stdio, env })
    child.once('error', reject)
    child.once('spawn', () => {
      running.add(child)
      resolve(child)
    })
    child.once('exit', () => running.delete(child))
  })

/** Asks a process to end, and ends it when it has not after 40 s. */
export const stop = async (child: ChildProcess): Promise<void> => {
  await endProcess(child, 'SIGTERM', stopTimeoutMs)
}

/**
 * Starts a proxy on a free port and waits until it responds to a GET of `path`. Its stdout and stderr go to files in
 * `directory`: a regular file is the one sink that all peers can write to (HAProxy cannot open one, nginx has no other
 * that is as cheap), it never makes a writer wait for a reader, and no reader takes CPU time from what is measured.
 * Tries three ports.
 */
export const startServer = async (
  directory: string,
  path: string,
  command: (port: number) => Promise<Command>,
  speaks: Speech = 'http',
  shows: Pair | null = null,
): Promise<Running> => {
  let said = ''
  for (let attempt = 0; attempt < 3; attempt++) {
    const port = await freePort()
    const logFile = join(directory, 'access.log')
    const errorFile = join(directory, 'stderr.log')
    const child = await withFiles([logFile, errorFile], async (out, err) =>
      start(await command(port), ['ignore', out, err]),
    )
    if (child.pid !== undefined && (await responses(child, { port, speaks, shows }, path))) {
      return { pid: child.pid, port, speaks, shows, logFile, stop: () => stop(child) }
    }
    await stop(child)
    said = tail(errorFile) + tail(logFile)
  }
  throw new Error(`did not start: ${said}`)
}

/** Opens files for appending, so that truncating one between rounds makes its writer go on at its new end. */
const withFiles = async (
  [first, second]: readonly [string, string],
  use: (first: number, second: number) => Promise<ChildProcess>,
): Promise<ChildProcess> => {
  const out = openSync(first, 'a')
  const err = openSync(second, 'a')
  try {
    return await use(out, err)
  } finally {
    closeSync(out)
    closeSync(err)
  }
}

const responses = async (
  child: ChildProcess,
  peer: Pick<Running, 'port' | 'speaks' | 'shows'>,
  path: string,
): Promise<boolean> => {
  const end = Date.now() + startTimeoutMs
  while (Date.now() < end && !hasEnded(child)) {
    const status = await requestPeer(peer, 'GET', path, '').then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) return true
    await sleep(50)
  }
  return false
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

const tail = (file: string): string => readFileSync(file, 'utf8').slice(-2_000)
