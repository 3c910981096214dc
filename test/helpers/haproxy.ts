/** Runs a real HAProxy in front of gateways, and reads what it thinks of them from its own stats socket. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endProcess } from './end-process.ts'
import { onFreePort } from './free-port.ts'

/** A row of HAProxy's statistics: a server's, or `FRONTEND` or `BACKEND`, by the names of its columns. */
export type StatRow = Readonly<Record<string, string>>

export interface Haproxy {
  /** Where clients reach it. */
  readonly port: number
  /** Lines of its log so far: `request STATE …` for each that went wrong, and what happened to the servers. */
  readonly log: readonly string[]
  /** Asks for the row of a server, or of `BACKEND`. */
  readonly row: (name: string) => Promise<StatRow>
  /** Ends the process and removes its files. */
  readonly stop: () => Promise<void>
}

/**
 * Starts HAProxy on a free loopback port, with the lines of a `backend` section of which there is one. It keeps
 * connections alive on both sides and reuses them as it does by default, but tries nothing twice: no request that fails
 * is hidden. With `tcp` it passes connections on as they are. `bindOptions` stand behind its address. Throws with what
 * HAProxy said when it does not start.
 */
export const startHaproxy = (
  path: string,
  backend: string,
  mode: 'http' | 'tcp' = 'http',
  bindOptions = '',
): Promise<Haproxy> => onFreePort((port) => startOnce(path, port, backend, mode, bindOptions))

const startOnce = async (
  path: string,
  port: number,
  backend: string,
  mode: 'http' | 'tcp',
  bindOptions: string,
): Promise<Haproxy> => {
  const directory = await mkdtemp(join(tmpdir(), 'haproxy-'))
  const configFile = join(directory, 'haproxy.cfg')
  const socket = join(directory, 'stats.sock')
  await writeFile(configFile, config(port, socket, backend, mode, bindOptions))
  const child = spawn(path, ['-db', '-f', configFile], { stdio: ['ignore', 'pipe', 'pipe'] })
  const log: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const whole = (rest + text).split('\n')
    rest = whole.pop() ?? ''
    log.push(...whole)
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const stop = async (): Promise<void> => {
    await endProcess(child)
    await rm(directory, { recursive: true, force: true })
  }
  if (!(await responses(child, socket))) {
    await stop()
    throw new Error(`HAProxy did not start on port ${port}: ${said}`)
  }
  const row = async (name: string): Promise<StatRow> => {
    const rows = readRows(await askRuntime(socket, 'show stat'))
    const found = rows.find(({ svname }) => svname === name)
    if (found === undefined) throw new Error(`HAProxy has no server ${name}: ${rows.map(({ svname }) => svname)}`)
    return found
  }
  return { port, log, row, stop }
}

/** Waits until the stats socket responds, which it does once every port is bound. */
const responses = async (child: ChildProcess, socket: string): Promise<boolean> => {
  let failed = false
  child.once('error', () => {
    failed = true
  })
  for (let tries = 0; tries < 1200; tries++) {
    if (failed || child.exitCode !== null || child.signalCode !== null) return false
    const response = await askRuntime(socket, 'show info').catch(() => '')
    if (response.includes(`Pid: ${child.pid}`)) return true
    await sleep(25)
  }
  return false
}

/** Sends one command to the stats socket and reads the response to its end. */
const askRuntime = async (path: string, command: string): Promise<string> => {
  const socket = connect(path)
  let response = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    response += text
  })
  socket.write(`${command}\n`)
  await once(socket, 'end')
  return response
}

/** Reads CSV whose first line names the columns. None of those that a test looks at holds a comma. */
const readRows = (csv: string): StatRow[] => {
  const [names = [], ...rows] = csv
    .trim()
    .replace(/^# /, '')
    .split('\n')
    .map((line) => line.split(','))
  return rows.map((cells) => Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ''])))
}

const config = (port: number, socket: string, backend: string, mode: 'http' | 'tcp', bindOptions: string): string => `
global
    stats socket ${socket} mode 600 level user
    log stdout format raw local0
defaults
    mode ${mode}
    log global
    # Only what went wrong: the state at the end, the status, the server, the request.
    option dontlog-normal
    ${mode === 'http' ? 'log-format "request %ts %ST %s %{+Q}r"' : ''}
    retries 0
    no option redispatch
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout http-keep-alive 60s
frontend clients
    bind 127.0.0.1:${port} ${bindOptions}
    default_backend ${/^\s*backend (\S+)/m.exec(backend)?.[1]}
${backend}
`
