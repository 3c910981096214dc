/**
 * Runs a gateway of several processes for the tests of a file: the real command, or a script that starts it with other
 * options.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { configText, type Settings } from './gateway.ts'
import { followLog, type LogLine } from './log-lines.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A worker as `/status` shows it. */
export interface ShownWorker {
  readonly worker: number
  readonly pid: number | null
  readonly state: string
  readonly startedAt: string | null
  readonly restarts: number
  readonly inFlight: number | null
  readonly config: string | null
}

/** The part of `/status` that these tests read. */
export interface ShownStatus {
  readonly state: string
  readonly ready: boolean
  readonly pid: number
  readonly config: { readonly hash: string; readonly loadedBy: string }
  readonly workers: readonly ShownWorker[]
  readonly findings: readonly { readonly about: string; readonly since: string | null }[]
  readonly operations: Readonly<Record<string, unknown>>
  readonly upstreams: Readonly<Record<string, { readonly endpoints: readonly { readonly state: string }[] }>>
  readonly tokens: {
    readonly jwt: { readonly keys: number; readonly lastSuccess: string | null } | null
  }
  readonly log: { readonly level: string; readonly dropped: number }
}

/** A response of the admin listener. */
export interface AdminReply {
  readonly status: number
  readonly body: string
}

export interface WorkerGateway {
  readonly pid: number
  readonly port: number
  readonly adminPort: number
  readonly stdout: Readable
  /** Log lines so far: each was whole, or reading it would have failed. */
  readonly lines: readonly LogLine[]
  line(wanted: (line: LogLine) => boolean): Promise<LogLine>
  ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: string): Promise<AdminReply>
  status(): Promise<ShownStatus>
  /** Rewrites the file; the gateway does not watch it. */
  edit(settings: Settings): void
  signal(name: NodeJS.Signals): void
  readonly ended: Promise<number | null>
  /** Kills it, if it still runs, and its workers, if they are still there. */
  stop(): Promise<void>
}

/** The command that platform teams run. */
export const command: readonly string[] = ['--disable-sigusr1', 'src/lender-gateway.js', 'serve', '--config']

/** Starts it, and waits until clients and operators can connect. */
export const startWorkerGateway = async (
  settings: Settings,
  args = command,
  environment = {},
): Promise<WorkerGateway> => {
  const folder = mkdtempSync(join(tmpdir(), 'workers-'))
  const file = join(folder, 'gateway.yaml')
  const edit = (edited: Settings): void => writeFileSync(file, configText({ workers: 2, ...edited }))
  edit(settings)
  const child = spawn(process.execPath, [...args, file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  const { lines, line } = followLog(child.stdout)
  const ended = once(child, 'close').then(([code]): number | null => code)
  const [{ port }, { port: admin }] = await Promise.race([
    Promise.all([line(({ msg }) => msg === 'listening'), line(({ msg }) => msg === 'admin listening')]),
    ended.then((code): never => {
      throw new Error(`it ended with ${code}`)
    }),
  ])
  const ask = (method: 'GET' | 'POST' | 'DELETE', path: string, body = ''): Promise<AdminReply> =>
    new Promise((resolve, reject) => {
      const outgoing = request({ host: '127.0.0.1', port: Number(admin), method, path }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  return {
    pid: child.pid ?? 0,
    port: Number(port),
    adminPort: Number(admin),
    stdout: child.stdout,
    lines,
    line,
    ask,
    status: async () => JSON.parse((await ask('GET', '/status')).body) as ShownStatus,
    edit,
    signal: (name) => void child.kill(name),
    ended,
    async stop() {
      child.kill('SIGKILL')
      for (const { pid } of lines.filter(({ msg }) => msg === 'worker started')) kill(Number(pid), 'SIGKILL')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

/** Tells whether a process exists, if only as a stopped one. */
export const isThere = (pid: number): boolean => kill(pid, 0)

/** Sends a signal to a process. False: there is none. */
export const kill = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
