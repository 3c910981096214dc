import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { vi } from 'vitest'
import { allOperations } from '../../../../../src/operations.ts'
import { openGateway, type TestGateway } from '../../../../helpers/gateway.ts'
import { call } from '../../../../helpers/wire.ts'
import { fakeClock } from '../fake-clock.ts'
import type { Origin, OriginResponse } from '../origin.ts'
import type { Bench, ClientRequest, ClientResponse, Session } from '../play.ts'
import type { Row } from '../row.ts'

const toSecret = (client: string): string => client.repeat(43)

/** An upstream that responds to each request as its row's script says: the query names the row. */
class Upstream {
  readonly #origins = new Map<string, Origin>()
  readonly #server = createServer((request, response) => this.#receive(request, response))
  #port = 0

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  serve(query: string, origin: Origin): void {
    this.#origins.set(query, origin)
  }

  /** Listens, always on the same port. */
  listen(): Promise<void> {
    if (this.#server.listening) return Promise.resolve()
    return new Promise((resolve) =>
      this.#server.listen(this.#port, '127.0.0.1', () => {
        this.#port = (this.#server.address() as AddressInfo).port
        resolve()
      }),
    )
  }

  /** Closes the listener and all connections. */
  close(): Promise<void> {
    if (!this.#server.listening) return Promise.resolve()
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    request.resume()
    const query = /row=\d+/.exec(request.url ?? '')?.[0] ?? ''
    const given = this.#origins.get(query)?.receive(request.rawHeaders)
    if (given === undefined || given === 'reset') return void request.socket.destroy()
    if (given === 'truncated') {
      response.writeHead(200, ['Cache-Control', 'max-age=60', 'Content-Length', '100'])
      return void response.write('cut', () => request.socket.destroy())
    }
    respond(response, given)
  }
}

const respond = (response: ServerResponse, { status, fields, body, trailers }: OriginResponse): void => {
  const framed = status === 204 || status === 304 || trailers.length > 0
  const hasLength = fields.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-length')
  response.sendDate = false
  response.writeHead(status, framed || hasLength ? [...fields] : [...fields, 'Content-Length', String(body.length)])
  if (trailers.length > 0) response.addTrailers([trailers as [string, string]])
  response.end(body, 'latin1')
}

/**
 * Plays rows on the gateway itself, before an upstream, with a client that writes its requests byte by byte. Time is
 * `Date`, and no timer waits by it.
 */
export const socketsBench = (): Bench & { close(): Promise<void> } => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  const upstream = new Upstream()
  const gateways = new Map<string, TestGateway>()

  const gatewayFor = async ({ cache, steps }: Row): Promise<TestGateway> => {
    const isKnown = steps.some(({ client }) => client !== undefined)
    const key = JSON.stringify([cache ?? true, isKnown])
    const running = gateways.get(key)
    if (running !== undefined) return running
    const cached = allOperations
      .filter(({ method }) => method === 'GET')
      .map(({ id }) => [id, { cache: cache ?? true }])
    const opened = await openGateway({
      upstream: upstream.url,
      defaults: { retry: 'none', outlier: 'none' },
      listen: { getContent: 'forward' }, // RFC 9111 has rows on requests with content
      operations: Object.fromEntries(cached),
      ...(isKnown && { auth: { methods: ['apiKey'] }, clients: ['a', 'b'].map(toClientConfig) }),
    })
    gateways.set(key, opened)
    return opened
  }

  return {
    name: 'sockets',
    clock: fakeClock,
    eventual: true,
    open: async (row, origin) => {
      await upstream.listen()
      const { port } = await gatewayFor(row)
      return new SocketSession(port, upstream, origin)
    },
    close: async () => {
      for (const { gateway } of gateways.values()) await gateway.close()
      await upstream.close()
      vi.useRealTimers()
    },
  }
}

const toClientConfig = (id: string) => ({
  id,
  operations: 'all',
  apiKeys: [{ id: `key-${id}`, sha256: hash('sha256', toSecret(id)) }],
})

class SocketSession implements Session {
  readonly #port: number
  readonly #upstream: Upstream
  readonly #origin: Origin

  constructor(port: number, upstream: Upstream, origin: Origin) {
    this.#port = port
    this.#upstream = upstream
    this.#origin = origin
  }

  async send({ client, operation, query, fields, body }: ClientRequest): Promise<ClientResponse> {
    this.#upstream.serve(query.slice(1).split('&')[0] ?? '', this.#origin)
    await (this.#origin.isDown ? this.#upstream.close() : this.#upstream.listen())
    const { method, path } = allOperations.find(({ id }) => id === operation) ?? allOperations[8]
    const key = client === null ? [] : ['X-Api-Key', `key-${client}.${toSecret(client)}`]
    const got = await call(this.#port, {
      method,
      target: path + query,
      fields: [...fields, ...key],
      ...(body !== null && { body: Buffer.from(body, 'latin1') }),
    })
    return { status: got.status, fields: got.fields, body: got.body.toString('latin1') }
  }

  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve))
  }
}
