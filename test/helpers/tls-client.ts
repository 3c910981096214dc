import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'

/** A connection over TLS, or why there is none. */
export interface TlsHandshake {
  readonly socket: TLSSocket
  /** The reason that the client has for its failure; null: the handshake is done, as far as the client knows. */
  readonly failure: string | null
}

/** Makes a handshake with a port of the loopback; trusts any certificate unless the options say otherwise. */
export const tlsHandshake = (port: number, options: ConnectionOptions = {}): Promise<TlsHandshake> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false, ...options })
    socket.once('secureConnect', () => resolve({ socket, failure: null }))
    socket.on('error', (error: Error & { readonly code?: string }) =>
      resolve({ socket, failure: error.code ?? error.message }),
    )
    socket.once('close', () => resolve({ socket, failure: 'closed' }))
  })

/** The outcome of a request over TLS. */
export interface TlsResponse {
  /** The status; 0: there was no response. */
  readonly status: number
  readonly text: string
  /** The serial number of the certificate that was shown. */
  readonly serial: string
  readonly resumed: boolean
  /** The session to resume with. */
  readonly session: Buffer | undefined
}

const request = (fields: readonly string[]): string =>
  ['GET /market/insights HTTP/1.1', 'Host: localhost', 'Connection: close', ...fields, '\r\n'].join('\r\n')

/** Asks over TLS for one of the nine, on a connection of its own; `fields` are further lines of the request. */
export const requestOverTls = async (
  port: number,
  options: ConnectionOptions = {},
  fields: readonly string[] = [],
): Promise<TlsResponse> => {
  const { socket, failure } = await tlsHandshake(port, options)
  const { serialNumber: serial = '' } = failure === null ? socket.getPeerCertificate() : {}
  const resumed = failure === null && socket.isSessionReused()
  let text = ''
  let session = failure === null ? socket.getSession() : undefined
  socket.on('session', (later) => {
    session = later // with TLS 1.3 it comes after the handshake
  })
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    if (socket.destroyed) resolve()
    else socket.write(request(fields))
  })
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text, serial, resumed, session }
}
