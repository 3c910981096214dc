import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface CommandRequest {
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  readonly cwd: string
}

export interface CommandResult {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

let host: ChildProcess | null = null
let isBusy = false

/** Whether the host runs a command. Another one at the same time needs a process of its own. */
export const isHostBusy = (): boolean => isBusy

/**
 * Runs a command in a process that has the program loaded, which takes most of a command's time. Rejects when that
 * process ends.
 */
export const runInHost = (request: CommandRequest): Promise<CommandResult> =>
  new Promise<CommandResult>((resolve, reject) => {
    isBusy = true
    host ??= startHost()
    const child = host
    const onExit = (code: number | null): void => {
      host = null
      reject(new Error(`the command has ended the process that other commands run in, with ${code}`))
    }
    child.once('exit', onExit).once('message', (result) => {
      child.off('exit', onExit)
      resolve(result as CommandResult)
    })
    child.send(request)
  }).finally(() => {
    isBusy = false
  })

const startHost = (): ChildProcess => {
  const script = fileURLToPath(new URL('command-host-child.ts', import.meta.url))
  const child = fork(script, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: [] })
  // It ends with the process that runs the tests.
  child.unref()
  child.channel?.unref()
  return child
}
