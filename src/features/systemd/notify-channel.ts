import { spawn } from 'node:child_process'
import type { Environment } from '../../core/config/environment.ts'
import { withTimeout } from '../../core/lib/clock.ts'

/** What systemd has asked a service of `Type=notify` for. */
interface NotifySettings {
  /** The path of the socket that takes notifications; with `@` in front an abstract one. */
  readonly socket: string
  /** How long systemd waits for a sign of life before it ends the service, in milliseconds. Null: it does not look. */
  readonly watchdogMs: number | null
}

const variables = ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'] as const

/** Reads what systemd asks the process `pid` for (sd_notify(3), sd_watchdog_enabled(3)). Null: nothing. */
export const parseNotifySettings = (environment: Environment, pid: number): NotifySettings | null => {
  const { NOTIFY_SOCKET: socket = '', WATCHDOG_USEC: microseconds = '', WATCHDOG_PID: watched } = environment
  if (socket === '') return null
  // Without WATCHDOG_PID, the time is for every process that has it; with another pid, for the parent.
  const isWatched = /^[1-9]\d{0,15}$/.test(microseconds) && (watched === undefined || watched === String(pid))
  return { socket, watchdogMs: isWatched ? Number(microseconds) / 1000 : null }
}

/** Takes what systemd asks this process for, and hides the variables from child processes: they are not the service. */
export const takeNotifySettings = (): NotifySettings | null => {
  const settings = parseNotifySettings(process.env, process.pid)
  for (const name of variables) delete process.env[name]
  return settings
}

/** Sends one message to systemd, of lines `NAME=VALUE`, three at most. Rejects when it was not taken. */
export type SendNotification = (assignments: readonly string[]) => Promise<void>

// The program itself waits for 5 s. After a message that hangs, a second one still comes within the 15 s between two
// signs of life.
const replyTimeoutMs = 7000

/**
 * Opens the way to systemd. Node has no datagram sockets with a path, so the program `systemd-notify` sends. To start a
 * process copies the page tables of this one: 16 ms of the event loop at 300 MB. So a shell is started once, while this
 * process is small, and starts the program for each message: it waits for lines, and ends with this process. A program
 * that hangs is killed with its shell after `timeoutMs`.
 */
export const openNotifyChannel = (
  socket: string,
  path = process.env.PATH,
  timeoutMs = replyTimeoutMs,
): SendNotification => {
  const start = () => startShell(socket, path)
  let shell = start()
  return async (assignments) => {
    if (shell.hasEnded()) shell = start()
    const { ask, kill } = shell
    const status = await withTimeout(
      ask(assignments.map((each) => each.replaceAll(/[\t\n]/g, ' ')).join('\t')),
      timeoutMs,
    )
    if (status === null) {
      kill()
      throw new Error(`systemd-notify hung for ${timeoutMs} ms`)
    }
    if (status !== '0') throw new Error(`systemd-notify ended with ${status}`)
  }
}

// The program waits until systemd has read the message: once the sender is gone, systemd cannot tell whose the message
// is.
const script = `while IFS='\t' read -r a b c; do systemd-notify "$a" \${b:+"$b"} \${c:+"$c"}; echo $?; done`

interface Shell {
  hasEnded(): boolean
  /** Writes a line, and resolves to the line that comes back. One at a time. */
  ask(line: string): Promise<string>
  /** Ends it, and the program that it waits for. */
  kill(): void
}

const startShell = (socket: string, path: string | undefined): Shell => {
  // No other variable of this process is passed on: it may be a secret.
  const child = spawn('/bin/sh', ['-c', script], {
    env: { PATH: path, NOTIFY_SOCKET: socket },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true, // a process group of its own, which can be killed as one
  })
  // A gateway that cannot start ends although the shell still waits for lines.
  child.unref()
  for (const stream of [child.stdin, child.stdout]) if ('unref' in stream) (stream as { unref(): void }).unref()
  child.stdin.on('error', () => {}) // it has ended, which `ask` reports
  let hasEnded = false
  let asked: PromiseWithResolvers<string> | null = null
  const end = (error: Error): void => {
    hasEnded = true
    asked?.reject(error)
  }
  child.once('error', end)
  // Not `close`: a program that outlives the shell keeps its output open.
  child.once('exit', () => end(new Error('the shell of systemd-notify has ended')))
  child.stdout.setEncoding('utf8').on('data', (text: string) => asked?.resolve(text.trim()))
  return {
    hasEnded: () => hasEnded,
    ask(line) {
      asked = Promise.withResolvers()
      child.stdin.write(`${line}\n`)
      return asked.promise
    },
    kill() {
      hasEnded = true
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {} // it has ended meanwhile
    },
  }
}
