import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'

const secret = 'planted-secret-of-the-gateway'
const token = 'planted-token-of-a-client'
const planted = [secret, token, Buffer.from(`gateway:${secret}`).toString('base64')]

type Echo = (asked: string) => string

/** Opens a server that answers with what it was asked, as `echo` puts it. */
const echoing = async (echo: Echo): Promise<string> => {
  const server = createServer((socket) => {
    let asked = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      asked += chunk.toString('latin1')
      if (asked.includes('token_type_hint')) socket.end(echo(asked))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/introspect`
}

const oneLine = (asked: string): string => asked.replaceAll(/[\r\n]+/g, ' ')

// The attack: an authorization server, or an attacker who broke into it, answers with what it was sent, so that it
// stands in the log of the gateway.
test.each<readonly [string, Echo]>([
  ['as its status line', (asked) => `HTTP/1.1 400 ${oneLine(asked)}\r\nContent-Length: 0\r\n\r\n`],
  ['as a field', (asked) => `HTTP/1.1 302 Found\r\nLocation: /${oneLine(asked)}\r\nContent-Length: 0\r\n\r\n`],
  ['as a field that cannot be', (asked) => `HTTP/1.1 200 OK\r\nX-Asked: ${oneLine(asked)}\0\r\n\r\n`],
  ['as it came', (asked) => asked],
  ['as its body', (asked) => `HTTP/1.1 200 OK\r\nContent-Length: ${asked.length}\r\n\r\n${asked}`],
  ['as JSON', (asked) => `HTTP/1.1 200 OK\r\n\r\n${JSON.stringify({ active: true, client_id: oneLine(asked) })}`],
])('what the gateway sends to the introspection server goes nowhere else: %s', async (_, echo) => {
  const live = await bootLiveGateway({
    auth: {
      methods: ['introspection'],
      introspection: { url: await echoing(echo), clientId: 'gateway', clientSecret: secret },
    },
    log: { level: 'trace' },
  })

  const response = await fetch(`${live.url}/market/insights`, { headers: { authorization: `Bearer ${token}` } })
  await live.line(({ failure }) => failure !== undefined)

  expect([403, 503]).toContain(response.status)
  const texts = [await response.text(), live.lines]
  for (const page of ['status', 'config', 'metrics'])
    texts.push(await fetch(`${live.admin}/${page}`).then((shown) => shown.text()))
  expect((await fetchAdmin(`${live.admin}/status`)).body).toMatchObject({ tokens: { introspection: {} } })
  for (const each of planted) expect(JSON.stringify(texts)).not.toContain(each)
})
