import { createServer } from 'node:net'
import { listenQuietly } from './quiet-port.ts'

/**
 * Finds a loopback TCP port that was free a moment ago, of those that the system gives to nobody by itself: a test beside this one does not
 * get it by asking for any. It may choose the same one: whoever starts a program on it tries again with another.
 */
export const freePort = async (): Promise<number> => {
  const server = createServer()
  const port = await listenQuietly(server)
  return new Promise((resolve) => server.close(() => resolve(port)))
}
