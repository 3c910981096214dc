import type { Server } from 'node:net'

// Below what Linux (32768) and others (49152) give to outgoing connections: while an endpoint is away, no socket gets
// its port by chance, nor does a connection to it meet itself.
const [from, below] = [15_000, 32_000]

/** Ports that a test was given as free: nothing else of this process takes them. */
export const promisedPorts = new Set<number>()

/** Lets a server listen on a loopback port that is its own even while it does not listen, and returns the port. */
export const listenOnReservedPort = async (server: Server): Promise<number> => {
  for (;;) {
    const port = from + Math.floor(Math.random() * (below - from))
    if (!promisedPorts.has(port) && (await tryListen(server, port))) return port
  }
}

/** Lets a server listen on a port; false: another one has it. */
export const tryListen = (server: Server, port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      server.off('listening', listening)
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    }
    const listening = (): void => {
      server.off('error', failed)
      resolve(true)
    }
    server.once('error', failed).once('listening', listening).listen(port, '127.0.0.1')
  })
