import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { Pair } from '../../helpers/certificates.ts'
import { openRawUpstream } from '../../helpers/upstream.ts'
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
  accepted(): number
  close(): Promise<unknown>
}

/** Opens the upstream. `tls`: it speaks TLS with this certificate. */
export const poisonedUpstream = async (tls: Pair | null = null): Promise<PoisonedUpstream> => {
  const plans = new Map<string, Play>()
  const onConnection = (socket: Socket): void => {
    socket.setNoDelay()
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    onHead(socket, (marker) => {
      const asked = {
        marker,
        socket,
        write: (bytes: string) => void (socket.writable && socket.write(bytes, 'latin1')),
      }
      const play = plans.get(marker)
      plans.delete(marker)
      if (play === undefined) asked.write(soundResponse(marker))
      else play(asked)
    })
  }
  const plan = (marker: string, play: Play): void => void plans.set(marker, play)
  if (tls === null) {
    const { url, accepted, close } = await openRawUpstream(onConnection)
    return { url, plan, accepted, close }
  }
  const open = new Set<TLSSocket>()
  let accepted = 0
  const server = createTlsServer({ ...tls, allowHalfOpen: true }, (socket) => {
    accepted++
    open.add(socket)
    onConnection(socket)
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of open) socket.destroy()
    })
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, plan, accepted: () => accepted, close }
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

const template = head(['Content-Length: 12']) + own
const soundResponse = (marker: string): string => template.replaceAll(own, marker)
