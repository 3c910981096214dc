/** The real command in a process of its own, on a file that is edited while it runs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { EditableFile, OnTestEnd } from './editable-file.ts'
import type { LogLine } from './gateway.ts'
import { fetchAdmin } from './live-gateway.ts'

/** What the heap of a process holds after two forced collections. */
export interface Heap {
  readonly usedBytes: number
  readonly residentBytes: number
}

/** What these tests read of /status. */
export interface Status {
  readonly config: {
    readonly hash: string
    readonly fileDiffers: boolean
    readonly lastRejection: { readonly problems: readonly { readonly line: number; readonly message: string }[] } | null
  }
  readonly upstreams: { readonly market: { readonly endpoints: readonly { readonly url: string }[] } }
  readonly retiring: number
}

export interface EditedGateway {
  readonly port: number
  /** The URL of the admin listener. */
  readonly admin: string
  status(): Promise<Status>
  /** Waits until /status is as wanted. */
  shows(wanted: (status: Status) => boolean): Promise<Status>
  heap(): Promise<Heap>
  signal(name: NodeJS.Signals): void
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const preload = new URL('heap-reporter.ts', import.meta.url).href

// How often /status is asked, and when that is given up, in milliseconds.
const askEveryMs = 50
const giveUpMs = 30_000

/** Starts the command on a way's file, waits until both listeners are open, and kills it when the test has finished. */
export const bootEditedGateway = async (
  { file, commandPrefix }: EditableFile,
  onEnd: OnTestEnd,
): Promise<EditedGateway> => {
  const node = [process.execPath, '--expose-gc', '--disable-sigusr1', '--import', preload, 'src/lender-gateway.js']
  const [command = '', ...args] = [...commandPrefix, ...node, 'serve', '--config', file]
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  onEnd(() => void child.kill('SIGKILL'))
  const { listening, admin: adminPort } = await ports(child.stdout)
  const admin = `http://127.0.0.1:${adminPort}`
  const status = async (): Promise<Status> => (await fetchAdmin(`${admin}/status`)).body as unknown as Status
  return {
    port: listening,
    admin,
    status,
    async shows(wanted) {
      const before = performance.now()
      for (;;) {
        const now = await status()
        if (wanted(now)) return now
        if (performance.now() - before > giveUpMs) throw new Error(`/status still says ${JSON.stringify(now)}`)
        await pause(askEveryMs)
      }
    },
    async heap() {
      const response = once(child, 'message')
      child.send('heap')
      const [heap] = await response
      return heap as Heap
    },
    signal: (name) => void child.kill(name),
  }
}

/** Reads a log as long as the process lives, and returns the ports of both listeners once they are open. */
const ports = (stdout: Readable | null): Promise<{ readonly listening: number; readonly admin: number }> =>
  new Promise((resolve, reject) => {
    if (stdout === null) throw new Error('the gateway has no log')
    let listening = 0
    let open = false
    const lines = createInterface(stdout)
    lines.on('line', (text) => {
      if (open) return
      const { msg, port }: LogLine = JSON.parse(text)
      if (msg === 'listening') listening = Number(port)
      if (msg !== 'admin listening') return
      open = true
      resolve({ listening, admin: Number(port) })
    })
    lines.on('close', () => reject(new Error('the gateway did not start')))
  })
