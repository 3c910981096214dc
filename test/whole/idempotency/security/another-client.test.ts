import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { once, post } from '../../../features/idempotency/wire/keyed-post.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const secrets = { a: 'A'.repeat(43), b: 'B'.repeat(43) }
const auth = {
  auth: { methods: ['apiKey'] },
  clients: (['a', 'b'] as const).map((each) => ({
    id: `bank-${each}`,
    operations: 'all',
    apiKeys: ['one', 'two'].map((id) => ({
      id: `${each}-${id}`,
      sha256: hash('sha256', secrets[each].slice(id.length) + id),
    })),
  })),
}
const keyOf = (client: 'a' | 'b', id: string) => [
  'X-API-Key',
  `${client}-${id}.${secrets[client].slice(id.length)}${id}`,
]
const proxied = { listen: { trustedProxies: ['127.0.0.0/8'] } }
const from = (address: string): string[] => ['X-Forwarded-For', address]
const bearer = (token: string): string[] => ['Authorization', `Bearer ${token}`]
const cookie = (session: string): string[] => ['Cookie', `session=${session}`]

// The attack: a client sends another client's key, to read its response or to block its requests.
const [a1, a2, b1] = [keyOf('a', 'one'), keyOf('a', 'two'), keyOf('b', 'one')]
const [near, far] = [from('192.0.2.1'), from('192.0.2.2')]
test.each<readonly [what: string, settings: Settings, told: string, clients: readonly (readonly string[])[]]>([
  ['another one that is authenticated is told its own', auth, '122', [a1, b1, b1]],
  ['a client that is authenticated has its keys with each credential', auth, '11', [a1, a2]],
  ['the holder of another token is told its own', {}, '121', [bearer('a'), bearer('b'), bearer('a')]],
  ['the holder of another cookie is told its own', {}, '121', [cookie('a'), cookie('b'), cookie('a')]],
  ['one without credentials is told its own', {}, '121', [bearer('a'), [], bearer('a')]],
  ['one of another address is told its own', proxied, '121', [near, far, near]],
  ['those without credentials behind one address are one', {}, '11', [near, far]],
])('of clients with the same key, %s', async (_, settings, told, clients) => {
  const upstream = await httpUpstream((_request, response) => response.end(String(upstream.requests.length)))
  const { port } = await bootGateway({ upstream: upstream.url, ...once, ...settings })

  const got: string[] = []
  for (const fields of clients) got.push(await post(port, 'k-1', { fields }))

  expect(got.map((each) => each.replace(/^200 | replayed$/g, '')).join('')).toBe(told)
})

test('a client that sends the key of another one with another body does not keep it from being served', async () => {
  const { port } = await bootGateway({
    upstream: (await httpUpstream((_, response) => response.end('done'))).url,
    ...once,
    ...auth,
  })
  const send = (client: 'a' | 'b', body: string) =>
    post(port, 'k-1', { fields: keyOf(client, 'one'), body: Buffer.from(body) })

  const got = [await send('b', 'evil'), await send('a', 'good'), await send('a', 'good')]

  expect(got).toEqual(['200 done', '200 done', '200 done replayed'])
})
