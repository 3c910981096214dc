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
