import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll } from 'vitest'
import { waitUntil } from '../../../tools/lab/lab.ts'
import type { Pair } from '../../helpers/certificates.ts'
import { openGateway } from '../../helpers/gateway.ts'
import { Client, faultOfSound, getOf, newMarker } from './client.ts'
import { head, own, type Poison } from './poisons.ts'

/** A request as it arrived, with the connection that it came on. */
export interface UpstreamRequest {
  readonly marker: string
  readonly socket: Socket
  write(bytes: string): void
}

type Responding = (asked: UpstreamRequest) => void

interface PoisonedUpstream {
  readonly url: string
  /** Sends this response to the request with this marker; all others get a sound response with their own marker. */
  plan(marker: string, play: Responding): void
  close(): Promise<void>
}

/** Opens the upstream. `tls`: it speaks TLS with this certificate. */
const poisonedUpstream = async (tls: Pair | null = null): Promise<PoisonedUpstream> => {
  const plans = new Map<string, Responding>()
  const open = new Set<Socket>()
  const onConnection = (socket: Socket): void => {
    open.add(socket.setNoDelay())
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    onHead(socket, (marker) => {
      const write = (bytes: string) => void (socket.writable && socket.write(bytes, 'latin1'))
      const play = plans.get(marker)
      plans.delete(marker)
      if (play === undefined) write(soundResponse.replaceAll(own, marker))
      else play({ marker, socket, write })
    })
  }
  const halfOpen = { allowHalfOpen: true }
  const server =
    tls === null ? createServer(halfOpen, onConnection) : createTlsServer({ ...tls, ...halfOpen }, onConnection)
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `${tls === null ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    plan: (marker, play) => void plans.set(marker, play),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}

/** Finds the heads of requests by their marker. Between them are bodies: `{}`, or chunks up to an empty line. */
const onHead = (socket: Socket, asked: (marker: string) => void): void => {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
      const head = text.slice(0, end + 2)
      // In the midst of a body it would be none.
      const marker = /^(?:\{\})?(?:GET|POST) /.test(head) ? /^x-marker: (.*)\r$/im.exec(head)?.[1] : undefined
      text = text.slice(end + 4)
      if (marker !== undefined) asked(marker)
    }
  })
}

const soundResponse = head(['Content-Length: 12']) + own

type Fault = string | null

/**
 * An upstream, a gateway with one connection to it, and three clients for all tests of a `describe`; `tls`: between
 * gateway and upstream.
 */
export const stage = (tls: Pair | null = null) => {
  let upstream: PoisonedUpstream
  let close: () => Promise<unknown> = async () => {}
  let clients: readonly [Client, Client, Client]
  beforeAll(async () => {
    upstream = await poisonedUpstream(tls)
    const { port, gateway } = await openGateway({
      upstream: {
        endpoints: [upstream.url],
        maxConnections: 1,
        keepAlive: '60s',
        ...(tls !== null && { tls: { verify: false, insecure: true } }),
      },
      // Long enough for a busy machine: a wait for bytes that do not come fails with the name of its case.
      defaults: { timeouts: { headers: '5s', body: '5s' } },
      log: { access: false },
    })
    close = () => Promise.all([gateway.close(), upstream.close()])
    clients = [new Client(port), new Client(port), new Client(port)]
  })
  afterAll(async () => {
    for (const client of clients) client.leave()
    await close()
  })

  /** Sends a request from the first client, to which `play` responds. */
  const poisoned = async (play: (asked: UpstreamRequest, client: Client) => Promise<void>, request = getOf) => {
    const marker = newMarker()
    const [client] = clients
    const played = Promise.withResolvers<Socket>()
    upstream.plan(marker, (asked) => {
      play(asked, client).then(() => played.resolve(asked.socket), played.reject)
    })
    await client.send(request(marker))
    return { marker, client, played: played.promise }
  }

  const askWith = async (client: Client, request = getOf, happen = (): void => {}): Promise<Fault> => {
    const marker = newMarker()
    const sent = client.send(request(marker))
    happen()
    await sent
    return faultOfSound(marker, await client.given())
  }

  /** Sends a request from each of the three clients, the first one last. Names the fault of each response. */
  const others = async (): Promise<readonly Fault[]> => {
    const [first, second, third] = clients
    return [await askWith(second), await askWith(third), await askWith(first)]
  }

  /** Sends a request from the second and one from the third at once. */
  const inLine = (): Promise<readonly Fault[]> => Promise.all([askWith(clients[1]), askWith(clients[2])])

  /** Sends a request from the second client, and calls `happen` in the same moment, before or after it. */
  const inTheMoment = (request: typeof getOf, happen: () => void, before: boolean): Promise<Fault> => {
    if (before) happen()
    return askWith(clients[1], request, before ? undefined : happen)
  }
  return { poisoned, others, inLine, inTheMoment }
}

export const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

/** Waits until the gateway has read the written bytes, and has closed the connection if it may not use it again. */
export const settled = async ({ stray, breaks, ends }: Poison, socket: Socket): Promise<void> => {
  if (stray !== '' || ends || breaks === 'head' || breaks === 'body') await waitUntil(() => socket.destroyed)
  else await turns(4)
}

/** Renders the response with the marker of its request. */
export const filled = ({ bytes }: Poison, marker: string): string => bytes.replaceAll(own, marker)

export type Play = (poison: Poison, asked: UpstreamRequest) => Promise<void>

/** Plays the whole of it in one write. */
export const atOnce: Play = async (poison, { marker, socket, write }) => {
  write(filled(poison, marker) + poison.stray)
  if (poison.ends) socket.end()
}

// Long responses have this many pieces, each of more than a byte.
const mostPieces = 300

/** Plays the response in pieces of a byte, each in a packet of its own. */
export const inPieces: Play = async (poison, { marker, socket, write }) => {
  const bytes = filled(poison, marker) + poison.stray
  const size = Math.ceil(bytes.length / mostPieces)
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    write(bytes.slice(at, at + size))
    await turns(1)
  }
  if (poison.ends) socket.end()
}

/** Plays the head; the returned function plays the rest. */
export const inTwo = (poison: Poison) => {
  let later = (): void => {}
  const play = async ({ marker, write }: UpstreamRequest): Promise<void> => {
    write(filled(poison, marker))
    later = () => write(poison.stray)
  }
  return { play, later: () => later() }
}
