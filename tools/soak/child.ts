/** Starts what is measured, with its inspector open, and reads what it says. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { endProcess } from '../../test/helpers/end-process.ts'
import { type Inspector, inspect } from './inspector.ts'

/** One process that serves or supervises. */
export interface Watched {
  readonly pid: number
  readonly inspector: Inspector
}

/** A line of a log, as far as it is read here. */
export interface Line {
  readonly msg?: string
  readonly level?: number
  readonly port?: number
  readonly [member: string]: unknown
}

export interface Child {
  readonly pid: number
  /** Lists it and its workers, those that have ended left out. */
  watched(): Promise<readonly Watched[]>
  /** Calls back with every line of its log from now on. */
  onLine: (line: Line) => void
  /** What it wrote on stderr besides the addresses of inspectors. */
  readonly complaints: readonly string[]
  /** Asks it to end and waits; kills it when that takes 40 s. Returns its exit code. */
  stop(): Promise<number | null>
}

const root = join(import.meta.dirname, '../..')

/** Starts a Node program of this tree. */
export const startChild = (args: readonly string[]): Child => {
  const child = spawn(process.execPath, ['--inspect=127.0.0.1:0', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const known = new Map<string, Promise<Watched | null>>()
  const complaints: string[] = []
  createInterface({ input: child.stderr }).on('line', (text) => {
    const url = /^Debugger listening on (ws:\S+)/.exec(text)?.[1]
    if (url !== undefined) known.set(url, watch(url))
    else if (!/^(For help, see|Debugger attached|Waiting for the debugger|Debugger ending)/.test(text))
      complaints.push(text)
  })
  const made: Child = {
    pid: child.pid as number,
    async watched() {
      const found: Watched[] = []
      for (const [url, watching] of known) {
        const one = await watching
        if (one !== null && isAlive(one.pid)) found.push(one)
        else known.delete(url)
      }
      return found
    },
    onLine: () => {},
    complaints,
    async stop() {
      // A process does not end before its inspector has disconnected.
      for (const each of await made.watched()) each.inspector.close()
      return endProcess(child, 'SIGTERM', 40_000)
    },
  }
  createInterface({ input: child.stdout }).on('line', (text) => made.onLine(parse(text)))
  process.once('exit', () => child.kill('SIGKILL'))
  return made
}

/** Waits until a child has said on which ports it listens, one for each of the messages. */
export const portsOf = (child: Child, ...wanted: readonly string[]): Promise<readonly number[]> =>
  new Promise((resolve, reject) => {
    const ports = new Map<string, number>()
    const previous = child.onLine
    const giveUp = setTimeout(() => reject(new Error(`it did not start: ${child.complaints.join('\n')}`)), 120_000)
    child.onLine = (line) => {
      previous(line)
      if (line.msg !== undefined && wanted.includes(line.msg)) ports.set(line.msg, Number(line.port))
      if (ports.size < wanted.length) return
      clearTimeout(giveUp)
      child.onLine = previous
      resolve(wanted.map((msg) => ports.get(msg) as number))
    }
  })

const parse = (text: string): Line => {
  try {
    return JSON.parse(text) as Line
  } catch {
    return { msg: text, level: 60 } // no line of a log: it must be seen
  }
}

const triesToWatch = 5

const watch = async (url: string): Promise<Watched | null> => {
  for (let tried = 1; tried <= triesToWatch; tried++) {
    try {
      const inspector = await inspect(url)
      return { inspector, pid: await inspector.evaluate<number>('process.pid') }
    } catch {
      await pause(1000) // it has ended, or is too busy with its start
    }
  }
  return null
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
