/** Runs a real Redis. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { freePort } from './free-port.ts'

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
export const startRedis = async (
  path: string,
  more: readonly string[] = [],
  url?: (port: number) => string,
): Promise<Redis> => {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const args = more.map((option) => option.replace('{port}', String(port)))
    const start = (): Promise<ChildProcess> => startOnce(path, port, args)
    try {
      let child = await start()
      return {
        port,
        url: url?.(port) ?? `redis://127.0.0.1:${port}`,
        async kill() {
          if (child.exitCode !== null || child.signalCode !== null) return
          const ended = once(child, 'exit')
          child.kill('SIGKILL')
          await ended
        },
        async restart() {
          child = await start()
        },
        freeze: () => void child.kill('SIGSTOP'),
        thaw: () => void child.kill('SIGCONT'),
      }
    } catch (error) {
      // The port may have been taken since it was found free.
      if (attempt === 3) throw error
    }
  }
}

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
