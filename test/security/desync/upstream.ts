import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Pair } from '../../helpers/certificates.ts'
import { head, own } from './poisons.ts'

/** A request as it arrived, with the connection that it came on. */
export interface UpstreamRequest {
  readonly marker: string
  readonly socket: Socket
  write(bytes: string): void
}

type Play = (asked: UpstreamRequest) => void

export interface PoisonedUpstream {
  readonly url: string
  /** Answers the request with this marker so; every other one gets a sound response that carries its marker. */
  plan(marker: string, play: Play): void
  close(): Promise<void>
}

/** Opens the upstream. `tls`: it speaks TLS with this certificate. */
export const poisonedUpstream = async (tls: Pair | null = null): Promise<PoisonedUpstream> => {
  const plans = new Map<string, Play>()
  const onConnection = (socket: Socket): void => {
    socket.setNoDelay()
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
  const open = new Set<Socket>()
  const listener = (socket: Socket): void => {
    open.add(socket)
    onConnection(socket)
  }
  const server =
    tls === null
      ? createServer({ allowHalfOpen: true }, listener)
      : createTlsServer({ ...tls, allowHalfOpen: true }, listener)
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

/** Finds the heads of requests by their marker. What lies between is bodies: `{}`, or chunks up to an empty line. */
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
