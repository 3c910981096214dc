import type { Environment } from '../../core/config/environment.ts'

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
