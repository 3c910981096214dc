import type { AddressInfo, Server, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Has a server listen on a port of the loopback until the test has finished; resolves to the port. */
export const listen = async (server: Server, host = '127.0.0.1'): Promise<number> => {
  const open = new Set<Socket>()
  server.on('connection', (socket) => open.add(socket))
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}
