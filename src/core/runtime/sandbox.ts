import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { allOperations } from '../../operations.ts'
import { createServer } from '../exchange/node-http.ts'
import { listSides } from '../exchange/sides.ts'
import { listenAt } from '../lib/net/bind-target.ts'
import type { PrimaryFeature } from './primary-part.ts'

export const openSandboxes: Required<PrimaryFeature>['open'] = () => {
  let sandbox: Sandbox | null = null
  return {
    async prepare({ upstreams }) {
      const used = Object.values(upstreams)
        .flatMap(listSides)
        .some(({ upstream }) => upstream.endpoints.some(({ origin }) => origin === 'sandbox'))
      if (used) sandbox ??= await openSandbox()
      return { sandboxOrigin: sandbox?.origin ?? null }
    },
    close: async () => sandbox?.close(),
  }
}

export type Sandbox = Awaited<ReturnType<typeof openSandbox>>

export const openSandbox = async () => {
  const server = createServer(echo)
  // Longer than any pool keeps an idle connection, so that no connection is closed under a request.
  server.keepAliveTimeout = 600_000
  await listenAt(server, { host: '127.0.0.1', port: 0 })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const echo = (request: IncomingMessage, response: ServerResponse): void => {
  const { method = '', url = '' } = request
  const [path = '', ...query] = url.split('?')
  const operation = allOperations.find((each) => each.method === method && path.endsWith(each.path))
  const hash = createHash('sha256')
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    hash.update(chunk)
    bytes += chunk.length
  })
  request.on('end', () => {
    const body = JSON.stringify({
      operation: operation?.id ?? null,
      group: operation?.group ?? null,
      method,
      path,
      query: query.join('?'),
      bytes,
      sha256: hash.digest('hex'),
    })
    response.writeHead(operation === undefined ? 404 : 200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'X-Sandbox': '1',
    })
    response.end(body)
  })
}
