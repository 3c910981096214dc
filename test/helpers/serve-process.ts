/** Runs the real command, `node src/lender-gateway.js serve --config FILE`, as a platform team does. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { followLog, type LogLine } from './log-lines.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** How the process ended. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ServeProcess {
  readonly pid: number | undefined
  /** Lines of stdout so far, parsed. */
  readonly lines: readonly LogLine[]
  /** Everything on stderr so far. */
  readonly errors: () => string
  /** Waits for a line of stdout; rejects with what stderr says when the process ends without it. */
  line(wanted: (line: LogLine) => boolean): Promise<LogLine>
  signal(name: NodeJS.Signals): void
  /** Resolves when the process has ended; its output may not have been read to the end. */
  readonly exited: Promise<ProcessExit>
  /** Resolves when the process has ended and all that it wrote was read. */
  readonly ended: Promise<ProcessExit>
}

/**
 * Starts the command and kills it, and its successor, when the test has finished. It is not listening yet: see {@link
 * waitForListening}. `env` is added to its environment, and `through` becomes it.
 */
export const serve = (
  file: string,
  env: Readonly<Record<string, string>> = {},
  commandPrefix: readonly string[] = [],
): ServeProcess => {
  const whole = [
    ...commandPrefix,
    process.execPath,
    '--disable-sigusr1',
    'src/lender-gateway.js',
    'serve',
    '--config',
    file,
  ]
  const [command = '', ...args] = whole
  return follow(spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } }))
}

/**
 * Starts the command as the README does, by a real npm, in a process group of its own as a terminal gives it, and kills
 * the group when the test has finished. `env` becomes its environment.
 */
export const npmStart = (npm: string, file: string, env: Readonly<Record<string, string>>): ServeProcess => {
  const args = ['--silent', 'start', '--', '--config', file]
  const child = spawn(npm, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env, detached: true })
  onTestFinished(() => {
    if (child.pid !== undefined) killIfThere(-child.pid)
  })
  return follow(child)
}

const follow = (child: ChildProcessByStdio<null, Readable, Readable>): ServeProcess => {
  const exited = once(child, 'exit').then(([code, signal]): ProcessExit => ({ code, signal }))
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const { lines, line } = followLog(child.stdout)
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const ended = once(child, 'close').then(([code, signal]): ProcessExit => ({ code, signal }))
  return {
    pid: child.pid,
    lines,
    exited,
    errors: () => errors,
    line: (wanted) =>
      Promise.race([
        line(wanted),
        ended.then((): never => {
          throw new Error(`the process ended without it: ${errors}`)
        }),
      ]),
    signal: (name) => void child.kill(name),
    ended,
  }
}

const killIfThere = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

/** Waits until a started process listens, and returns its port. */
export const waitForListening = async (served: ServeProcess): Promise<number> => {
  const { port } = await served.line(({ msg }) => msg === 'listening')
  return Number(port)
}
