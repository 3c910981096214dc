import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'

const secret = 'planted-secret-of-the-gateway'
const token = 'planted-token-of-a-client'
const planted = [secret, token, Buffer.from(`gateway:${secret}`).toString('base64')]

type Echo = (asked: string) => string

const oneLine = (asked: string): string => asked.replaceAll(/[\r\n]+/g, ' ')

// The attack: an authorization server, or an attacker in it, responds with the token or the secret, so that it gets
// into the gateway's log.
test.each<readonly [string, Echo]>([
  ['as its status line', (asked) => `HTTP/1.1 400 ${oneLine(asked)}\r\nContent-Length: 0\r\n\r\n`],
  ['as a field that cannot be', (asked) => `HTTP/1.1 200 OK\r\nX-Asked: ${oneLine(asked)}\0\r\n\r\n`],
  ['as its body', (asked) => `HTTP/1.1 200 OK\r\nContent-Length: ${asked.length}\r\n\r\n${asked}`],
  ['as JSON', (asked) => `HTTP/1.1 200 OK\r\n\r\n${JSON.stringify({ active: true, client_id: oneLine(asked) })}`],
])('what the gateway sends to the introspection server goes nowhere else: %s', async (_, echo) => {
  // A server that responds with what it was asked.
  const server = await rawUpstream((socket) => {
    let asked = ''
    socket.on('data', (chunk) => {
      asked += chunk.toString('latin1')
      if (asked.includes('token_type_hint')) socket.end(echo(asked))
    })
  })
  const introspection = { url: `${server.url}/introspect`, clientId: 'gateway', clientSecret: secret }
  const live = await bootLiveGateway({ auth: { methods: ['introspection'], introspection }, log: { level: 'trace' } })

  const response = await fetch(`${live.url}/market/insights`, { headers: { authorization: `Bearer ${token}` } })
  await live.line(({ failure }) => failure !== undefined)

  expect([403, 503]).toContain(response.status)
  const texts = [await response.text(), live.lines]
  for (const page of ['status', 'config', 'metrics'])
    texts.push(await fetch(`${live.admin}/${page}`).then((shown) => shown.text()))
  expect((await fetchAdmin(`${live.admin}/status`)).body).toMatchObject({ tokens: { introspection: {} } })
  for (const each of planted) expect(JSON.stringify(texts)).not.toContain(each)
})

// The attack: a member of the introspection response (RFC 7662 §2.2 allows any) is nested as deep as possible.
test('a response on a token that is nested too deep to be written again is read like another', async () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const server = await httpUpstream((_, response) => response.end(`{"active":true,"client_id":"bank-a","a":${deep}}`))
  const introspection = { url: `${server.url}/introspect`, clientId: 'gateway', clientSecret: 'secret' }
  const { url } = await bootGateway({
    auth: { methods: ['introspection'], introspection },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }],
  })

  const ask = async (): Promise<number> =>
    (await fetch(`${url}/market/insights`, { headers: { authorization: 'Bearer opaque' } })).status

  expect([await ask(), await ask()]).toEqual([200, 200])
  expect(server.requests).toHaveLength(1)
})
