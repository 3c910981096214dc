import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { within } from '../clock.ts'
import type { SendLines } from '../observe/audit/outbox.ts'
import type { Listed } from '../snapshot/overrides.ts'
import { type Handing, tell, variable } from './listeners.ts'

/** Is what a successor tells the process that started it. */
const ready = 'ready'

const readyWithinMs = 30_000

/** Is a process that is to take this one's place. */
export interface Successor {
  /** Undefined: it could not even be started. */
  readonly pid: number | undefined
  /** Resolves when it serves; rejects with the reason when it does not. Then it is gone, and nothing has changed. */
  readonly serves: Promise<void>
  /** Tells one that serves what operators have said up to now: some of it perhaps since it was started. */
  tell(said: Listed): void
  /** Has it write lines of the audit log. */
  readonly send: SendLines
  /** Tells it that this process writes to the audit log no more. */
  release(): void
  /** Ends it, unless it serves. */
  abandon(): void
}

/**
 * Starts what this process was started with once more (new code, perhaps) and hands the listening sockets on: clients can connect all
 * the time, and a connection that waits in the kernel for somebody to accept it is lost to nobody.
 */
export const startSuccessor = (
  handed: Handing,
  command: readonly string[] = [process.execPath, ...process.execArgv, ...process.argv.slice(1)],
  withinMs = readyWithinMs,
): Successor => {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    // Every other descriptor of this process is closed in it: Node opens them so.
    stdio: ['inherit', 'inherit', 'inherit', handed.public.fd, handed.admin.fd, 'ipc'],
    env: { ...process.env, [variable]: tell(handed) },
  })
  child.on('error', () => {}) // also after what is told below
  child.send({ ...handed.said, audit: handed.audit } satisfies Told, () => {})
  let abandon = (): void => void child.kill('SIGKILL')
  const onExit = (): void => abandon()
  process.once('exit', onExit)
  const serves = untilReady(child, withinMs)
    .catch((error) => {
      abandon()
      throw error
    })
    .finally(() => {
      abandon = () => {}
      process.off('exit', onExit)
    })
  const say = (message: Further, done = () => {}): void => void child.send(message, () => done())
  return {
    pid: child.pid,
    serves,
    tell: say,
    send: (lines, lost, done) => say({ lines, lost }, done),
    release: () => say({ released: true }),
    abandon: () => abandon(),
  }
}

const untilReady = async (child: ChildProcess, withinMs: number): Promise<void> => {
  const over = new AbortController()
  const { signal } = over
  try {
    const ended = once(child, 'exit', { signal }).then(([code, by]) => {
      throw new Error(`it ended ${by === null ? `with ${code}` : `by ${by}`} before it was ready`)
    })
    const told = once(child, 'message', { signal }).then(([message]) => {
      if (message !== ready) throw new Error('it said something else than that it is ready')
    })
    if (!(await within(withinMs, Promise.race([told, ended]))))
      throw new Error(`it was not ready within ${withinMs / 1000} s`)
  } finally {
    over.abort()
  }
}

/** Is what a process is told first: what operators have said, and the audit log that is still written. */
export type Told = Listed & { readonly audit?: string | null }

/** Is what it is told when it serves: what operators have said by then, and of the audit log. */
type Further = Listed | { readonly lines: readonly string[]; readonly lost: number } | { readonly released: true }

/** Is the process that this one is to take the place of. */
export interface Predecessor {
  /** Resolves with what operators have said to it. */
  readonly said: Promise<Told>
  /** Resolves when it writes to its audit log no more, or has ended. */
  readonly released: Promise<void>
  /** Tells it that this process serves; `hear` is told of what comes from it then. */
  serves(hear: Heard): void
}

/** Hears of the process before this one. */
export interface Heard {
  /** What operators have said to it by now. */
  said(said: Listed): void
  /** It has left the writing of these lines to this process, and lost so many. */
  lines(lines: readonly string[], lost: number): void
  /** It has ended. */
  gone(): void
}

/** Finds the process that started this one to take its place, and ends with it until it serves; null: there is none. */
export const predecessor = (): Predecessor | null => {
  if (process.send === undefined) return null
  const gone = (): void => {
    process.stderr.write('lender-gateway: the process whose place this one was to take has ended\n')
    process.exit(1)
  }
  process.once('disconnect', gone)
  const said = once(process, 'message').then(([message]) => {
    process.channel?.unref() // or whoever fails to start would wait for it
    return message as Told
  })
  const released = Promise.withResolvers<void>()
  return {
    said,
    released: released.promise,
    serves(hear) {
      process.off('disconnect', gone)
      process.on('message', (message: Further) => {
        if ('lines' in message) hear.lines(message.lines, message.lost)
        else if ('released' in message) released.resolve()
        else hear.said(message)
      })
      process.once('disconnect', () => {
        released.resolve()
        hear.gone()
      })
      process.send?.(ready)
    },
  }
}
