/** Runs a real Redis. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { endProcess } from './end-process.ts'
import { onFreePort } from './free-port.ts'

export interface Redis {
  readonly port: number
  readonly url: string
  /** Ends it at once, as a crash would; later connections are refused. */
  readonly kill: () => Promise<void>
  /** Starts it again where it was, empty. */
  readonly restart: () => Promise<void>
  /** Stops its replies, though its connections stay open. */
  readonly freeze: () => void
  readonly thaw: () => void
}

/**
 * Starts Redis on a free loopback port; it keeps nothing on disk. `more` are options as on its command line, `{port}`
 * in them its port.
 */
export const startRedis = (
  path: string,
  more: readonly string[] = [],
  url?: (port: number) => string,
): Promise<Redis> =>
  onFreePort(async (port) => {
    const args = more.map((option) => option.replace('{port}', String(port)))
    let child = await startOnce(path, port, args)
    return {
      port,
      url: url?.(port) ?? `redis://127.0.0.1:${port}`,
      kill: async () => void (await endProcess(child, 'SIGKILL')),
      async restart() {
        child = await startOnce(path, port, args)
      },
      freeze: () => void child.kill('SIGSTOP'),
      thaw: () => void child.kill('SIGCONT'),
    }
  })

const startOnce = async (path: string, port: number, more: readonly string[]): Promise<ChildProcess> => {
  const args = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--appendonly', 'no', ...more]
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said: string[] = []
  const lines = createInterface({ input: child.stdout })
  for await (const line of lines) {
    said.push(line)
    if (!line.includes('Ready to accept connections')) continue
    child.stdout.resume()
    return child
  }
  throw new Error(`redis-server did not start on port ${port}: ${said.join('\n')}`)
}
