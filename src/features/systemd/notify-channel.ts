import { spawn } from 'node:child_process'
import type { Environment } from '../../core/config/environment.ts'
import { withTimeout } from '../../core/lib/clock.ts'
import { tryOrNull } from '../../core/lib/try.ts'

interface NotifySettings {
  /** A path; with `@` in front an abstract socket. */
  readonly socket: string
  /** systemd ends the service after this time without a keep-alive. Null: no watchdog. */
  readonly watchdogMs: number | null
}

const variables = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'] as const

/** sd_notify(3), sd_watchdog_enabled(3). */
export const parseNotifySettings = (environment: Environment, pid: number): NotifySettings | null => {
  const { NOTIFY_SOCKET: socket = '', WATCHDOG_USEC: microseconds = '', WATCHDOG_PID: watched } = environment
  if (socket === '') return null
  // Without WATCHDOG_PID, the time is for every process that has it.
  const isWatched = /^[1-9]\d{0,15}$/.test(microseconds) && (watched === undefined || watched === String(pid))
  return { socket, watchdogMs: isWatched ? Number(microseconds) / 1000 : null }
}

/** Hides the variables from child processes, which are not the service. */
export const takeNotifySettings = (): NotifySettings | null => {
  const settings = parseNotifySettings(process.env, process.pid)
  for (const name of variables) delete process.env[name]
  return settings
}

/** Sends one message of at most three lines `NAME=VALUE`. Rejects when systemd did not take it. */
export type SendNotification = (assignments: readonly string[]) => Promise<void>

// `systemd-notify` itself waits 5 s. The next message still comes within the 15 s between two keep-alives.
const replyTimeoutMs = 7000

/**
 * Node has no datagram sockets with a path, so `systemd-notify` sends. Spawning copies this process's page tables: 16
 * ms of the event loop at 300 MB. So one shell, started while this process is small, runs the program for each line.
 * After `timeoutMs`, program and shell are killed.
 */
export const openNotifyChannel = (socket: string, path = process.env.PATH, timeoutMs = replyTimeoutMs) => {
  let shell = startShell(socket, path)
  return async (assignments: Parameters<SendNotification>[0]): Promise<void> => {
    if (shell.hasEnded()) shell = startShell(socket, path)
    const line = assignments.map((each) => each.replaceAll(/[\t\n]/g, ' ')).join('\t')
    const status = await withTimeout(shell.ask(line), timeoutMs)
    if (status === null) {
      shell.kill()
      throw new Error(`systemd-notify hung for ${timeoutMs} ms`)
    }
    if (status !== '0') throw new Error(`systemd-notify ended with ${status}`)
  }
}

// The program waits until systemd has read the message: systemd cannot identify a sender that has gone.
const script = `while IFS='\t' read -r a b c; do systemd-notify "$a" \${b:+"$b"} \${c:+"$c"}; echo $?; done`

const startShell = (socket: string, path: string | undefined) => {
  // Other variables may be secrets.
  const child = spawn('/bin/sh', ['-c', script], {
    env: { PATH: path, NOTIFY_SOCKET: socket },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true, // a process group of its own, killed as one
  })
  // Without unref, the shell would keep a gateway alive that cannot start.
  child.unref()
  for (const stream of [child.stdin, child.stdout]) if ('unref' in stream) (stream as { unref(): void }).unref()
  child.stdin.on('error', () => {}) // the shell has ended, which `ask` reports
  let hasEnded = false
  let asked: PromiseWithResolvers<string> | null = null
  const end = (error: Error): void => {
    hasEnded = true
    asked?.reject(error)
  }
  child.once('error', end)
  // A program that outlives the shell delays `close`.
  child.once('exit', () => end(new Error('the shell of systemd-notify has ended')))
  child.stdout.setEncoding('utf8').on('data', (text: string) => asked?.resolve(text.trim()))
  return {
    hasEnded: () => hasEnded,
    /** Resolves to the reply line. One call at a time. */
    ask(line: string): Promise<string> {
      asked = Promise.withResolvers()
      child.stdin.write(`${line}\n`)
      return asked.promise
    },
    kill(): void {
      hasEnded = true
      // The shell may have ended meanwhile.
      tryOrNull(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'))
    },
  }
}
