import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Http1Request } from '../../src/core/downstream/http1/http1-request.ts'
import type { Http1Response } from '../../src/core/downstream/http1/http1-response.ts'
import { createHttp1Server } from '../../src/core/downstream/listener/downstream-server.ts'
import { createListenerConfigGetter } from '../../src/core/downstream/listener/listener-config.ts'
import { type Settings, testConfig } from './gateway.ts'

/**
 * Serves HTTP/1 as the public listener does, without routes; returns the port. What is malformed ends its connection.
 */
export const serveHttp1 = async (
  serve: (request: Http1Request, response: Http1Response) => void,
  settings: Settings = {},
): Promise<number> => {
  const sockets: Socket[] = []
  const { accept } = createHttp1Server({
    getListenerConfig: createListenerConfigGetter({ value: { config: testConfig(settings) } } as never),
    clientErrors: { onMalformed: (_: unknown, socket: Socket) => void socket.destroy() } as never,
    onRequest: serve,
  })
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.push(socket)
    accept(socket)
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}
