/** Does for one service what the commands of docs/deploying.md ask of systemd: systemd itself must be process 1. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { getFileDescriptor } from '../../../src/core/lib/file-descriptors.ts'
import { openNotifySocket } from './notify-socket.ts'

export const settingsOf = (unit: string, name: string): readonly string[] =>
  unit.split('\n').flatMap((line) => (line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : []))

/** Reads a setting that stands once. */
export const settingOf = (unit: string, name: string): string => {
  const [value, ...more] = settingsOf(unit, name)
  if (value === undefined || more.length > 0)
    throw new Error(`${name} stands ${more.length === 0 ? 'nowhere' : 'twice'}`)
  return value
}

export interface StandIn {
  /** Runs `systemctl ARGS`, and returns when systemctl would. Throws for unknown arguments. */
  systemctl(...args: readonly string[]): Promise<void>
  /** All that processes of the service have written to stderr. */
  errors(): string
}

// A process that systemd starts with a socket, which it inherits before it knows its command.
const waiting = 'IFS= read -r command && eval "$command"'
const restarts = 4

/**
 * Starts with no process, on the units below `root`, whose paths `mapped` puts there; ends its processes when the test
 * has finished. A service has started when it reports so.
 */
export const standIn = async (root: string, mapped: (text: string) => string, python: string): Promise<StandIn> => {
  const notified = await openNotifySocket(python)
  const readyTimes = (): number => notified.messages.filter((message) => 'READY' in message).length
  const unit = (name: string): string => mapped(readFileSync(join(root, 'etc/systemd/system', name), 'utf8'))
  const credentials = join(root, 'credentials')
  const children: ChildProcess[] = []
  /** Processes that hold the socket of the socket unit, each the next service; null: no such unit. */
  let holders: ChildProcess[] | null = null
  let service: ChildProcess | null = null
  let errors = ''
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL')
  })

  const shell = (more: readonly number[]): ChildProcess => {
    const child = spawn('/bin/sh', ['-c', waiting], { stdio: ['pipe', 'ignore', 'pipe', ...more], env: {} })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    children.push(child)
    return child
  }

  /** Opens the socket, and leaves it to processes that do not accept from it: a connecting client waits. */
  const openSocket = async (): Promise<void> => {
    const [, port] = /:(\d+)$/.exec(settingOf(unit('lender-gateway.socket'), 'ListenStream')) ?? []
    const server = createServer()
    await once(server.listen(Number(port), '127.0.0.1'), 'listening')
    const fd = getFileDescriptor(server) ?? -1
    holders = Array.from({ length: restarts }, () => shell([fd]))
    await Promise.all(holders.map((holder) => once(holder, 'spawn')))
    await new Promise((resolve) => server.close(resolve))
  }

  const start = async (): Promise<void> => {
    const text = unit('lender-gateway.service')
    const before = readyTimes()
    mkdirSync(credentials, { recursive: true })
    for (const credential of settingsOf(text, 'LoadCredential')) {
      const [name = '', from = ''] = credential.split(':')
      copyFileSync(from, join(credentials, name))
    }
    // sd_listen_fds(3): the first descriptor is 3, and the pid is that of the process itself.
    const named = holders === null ? '' : settingOf(unit('lender-gateway.socket'), 'FileDescriptorName')
    const socket = holders === null ? '' : `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=${named}`
    const environment = `NOTIFY_SOCKET=${notified.path} CREDENTIALS_DIRECTORY=${credentials} ${settingsOf(text, 'Environment').join(' ')} ${socket}`
    const command = `exec env ${environment} ${settingOf(text, 'ExecStart')} < /dev/null`
    service = holders === null ? shell([]) : (holders.shift() ?? null)
    if (service === null) throw new Error(`it can be started ${restarts} times`)
    service.stdin?.end(`cd ${settingOf(text, 'WorkingDirectory')} && ${command}\n`)
    if (settingOf(text, 'Type') !== 'notify') throw new Error('it knows a service of Type=notify alone')
    await expect.poll(readyTimes, { timeout: 60_000 }).toBe(before + 1)
  }

  const stop = async (): Promise<void> => {
    if (service === null) return
    const ended = once(service, 'exit')
    service.kill('SIGTERM')
    service = null
    await ended
  }

  return {
    errors: () => errors,
    async systemctl(...args) {
      switch (args.join(' ')) {
        case 'daemon-reload':
          return
        case 'enable --now lender-gateway':
        case 'start lender-gateway':
          return start()
        case 'enable --now lender-gateway.socket':
          return openSocket()
        case 'stop lender-gateway':
          return stop()
        case 'restart lender-gateway':
          await stop()
          return start()
        default:
          throw new Error(`systemctl ${args.join(' ')} is not known here`)
      }
    },
  }
}
