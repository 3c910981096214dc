import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { gatherText } from '../../helpers/gather-text.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

export interface Tail {
  readonly child: ChildProcess
  readonly out: () => string
  readonly err: () => string
  /** Waits until the command has printed this. */
  printed(wanted: RegExp): Promise<void>
  noted(wanted: RegExp): Promise<void>
  /** Ends it as Ctrl-C does; resolves to the exit code. */
  interrupt(): Promise<number | null>
}

export const tail = (admin: string, ...args: readonly string[]): Tail => tailAll(admin, '--rejected', ...args)

export const tailAll = (admin: string, ...args: readonly string[]): Tail => {
  const child = spawn(process.execPath, ['src/lender-gateway.js', 'tail', '--admin', admin, ...args], { cwd: root })
  onTestFinished(() => void child.kill('SIGKILL'))
  const closed = once(child, 'close').then(([code]): number | null => code)
  const [out, err] = [gatherText(child.stdout), gatherText(child.stderr)]
  const comes = (text: () => string, wanted: RegExp): Promise<void> =>
    expect.poll(text, { timeout: 30_000, interval: 20 }).toMatch(wanted)
  return {
    ...{ child, out, err, printed: (wanted) => comes(out, wanted), noted: (wanted) => comes(err, wanted) },
    interrupt() {
      child.kill('SIGINT')
      return closed
    },
  }
}
