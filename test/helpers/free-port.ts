import { createServer } from 'node:net'
import { listenOnReservedPort, promisedPorts } from './reserved-port.ts'

/**
 * Finds a loopback TCP port that was free a moment ago, of those that the system never gives out by itself: a test
 * beside this one does not get it by asking for any, nor does anything else of this process. A test in another process
 * may choose the same one: a caller that starts a program on it tries again with another.
 */
export const freePort = async (): Promise<number> => {
  const server = createServer()
  const port = await listenOnReservedPort(server)
  promisedPorts.add(port)
  return new Promise((resolve) => server.close(() => resolve(port)))
}

/** Starts a program on a free port, and on another one where it does not start: the port may have been taken since. */
export const onFreePort = async <Started>(start: (port: number) => Promise<Started>): Promise<Started> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePort())
    } catch (error) {
      if (attempt === 3) throw error
    }
  }
}
