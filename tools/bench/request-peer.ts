import { request as http } from 'node:http'
import { connect } from 'node:http2'
import { request as https } from 'node:https'
import type { Pair } from '../../test/helpers/certificates.ts'
import type { Running } from './process.ts'

interface PeerResponse {
  readonly status: number
  readonly body: string
  readonly type: string
}

/** Asks a peer on a connection of its own, and believes whatever certificate it shows. */
export const requestPeer = (
  { port, speaks, shows = null }: Pick<Running, 'port' | 'speaks' | 'shows'>,
  method: string,
  path: string,
  body: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<PeerResponse> => {
  const length = body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const asked = { port, method, path, body, headers: { ...length, ...fields } }
  return speaks === 'h2' ? requestOverHttp2(asked) : requestOverHttp1(asked, speaks === 'https', shows)
}

interface PeerRequest {
  readonly port: number
  readonly method: string
  readonly path: string
  readonly body: string
  readonly headers: Readonly<Record<string, string | number>>
}

const waitMs = 5_000

const requestOverHttp1 = ({ body, ...asked }: PeerRequest, tls: boolean, shows: Pair | null): Promise<PeerResponse> =>
  new Promise((resolve, reject) => {
    const sent = (tls ? https : http)(
      { host: '127.0.0.1', ...asked, agent: false, timeout: waitMs, rejectUnauthorized: false, ...shows },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('error', reject)
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: text, type: response.headers['content-type'] ?? '' }),
        )
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`${asked.method} ${asked.path}: no response within 5 s`)))
    sent.on('error', reject)
    sent.end(body)
  })

const requestOverHttp2 = ({ port, method, path, body, headers }: PeerRequest): Promise<PeerResponse> =>
  new Promise((resolve, reject) => {
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    session.on('error', reject)
    session.setTimeout(waitMs, () => session.destroy(new Error(`${method} ${path}: no response within 5 s`)))
    const stream = session.request({ ...headers, ':method': method, ':path': path }, { endStream: body === '' })
    let [status, type, text] = [0, '', '']
    stream.setEncoding('utf8')
    stream.on('response', (responded) => {
      status = Number(responded[':status'])
      type = responded['content-type'] ?? ''
    })
    stream.on('data', (chunk) => {
      text += chunk
    })
    stream.on('error', (error) => {
      session.destroy()
      reject(error)
    })
    stream.on('end', () => {
      session.close()
      resolve({ status, body: text, type })
    })
    if (body !== '') stream.end(body)
  })
