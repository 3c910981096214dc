import { request as http } from 'node:http'
import { request as https } from 'node:https'
import type { Running } from './process.ts'

interface Answer {
  readonly status: number
  readonly body: string
  readonly type: string
}

/** Asks a peer on a connection of its own, and believes whatever certificate it shows. */
export const ask = (
  { port, tls }: Pick<Running, 'port' | 'tls'>,
  method: string,
  path: string,
  body: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const length = body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const sent = (tls ? https : http)(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: { ...length, ...fields },
        agent: false,
        timeout: 5_000,
        rejectUnauthorized: false,
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('error', reject)
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: text, type: answer.headers['content-type'] ?? '' }),
        )
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer within 5 s`)))
    sent.on('error', reject)
    sent.end(body)
  })
