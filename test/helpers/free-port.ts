import { createServer } from 'node:net'

/**
 * Finds a loopback TCP port that was free a moment ago. Another process may take it before it is used: whoever starts a program on
 * it tries again with another one.
 */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('no TCP address'))
        else resolve(address.port)
      })
    })
  })
