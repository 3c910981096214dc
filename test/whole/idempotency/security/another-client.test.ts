import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

// The attack: a client sends the key of another one, to read what that was told, or to keep it from being served.
const idempotency = { operations: { 'valuation.score': { idempotency: true } } }

/** Sends one key as two clients, and says what each got: the number of the request at the upstream. */
const sendAs = async (settings: Settings, ...clients: readonly (readonly string[])[]) => {
  const upstream = await httpUpstream((_, response) => response.end(String(upstream.requests.length)))
  const { port } = await bootGateway({ upstream: upstream.url, ...idempotency, ...settings })
  const got: string[] = []
  for (const fields of clients) {
    const { status, body } = await call(port, {
      method: 'POST',
      target: '/valuation/score',
      fields: ['Idempotency-Key', 'k-1', ...fields],
      body: Buffer.from('abc'),
    })
    got.push(`${status} ${body}`)
  }
  return got
}

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

test('a client that is authenticated does not get what another one was told', async () => {
  const got = await sendAs(auth, keyOf('a', 'one'), keyOf('b', 'one'), keyOf('b', 'one'))

  expect(got).toEqual(['200 1', '200 2', '200 2'])
})

test('a client that is authenticated has its keys with each of its credentials', async () => {
  const got = await sendAs(auth, keyOf('a', 'one'), keyOf('a', 'two'))

  expect(got).toEqual(['200 1', '200 1'])
})

test.each([
  ['Authorization', ['Authorization', 'Bearer a'], ['Authorization', 'Bearer b']],
  ['Cookie', ['Cookie', 'session=a'], ['Cookie', 'session=b']],
  ['no credentials', ['Authorization', 'Bearer a'], []],
])('the holder of other credentials, in %s, does not get what the first was told', async (_, first, second) => {
  expect(await sendAs({}, first, second, first)).toEqual(['200 1', '200 2', '200 1'])
})

test('a client of another address does not get what the first was told, behind a proxy that is trusted', async () => {
  const listen = { trustedProxies: ['127.0.0.0/8'] }
  const from = (address: string) => ['X-Forwarded-For', address]

  const got = await sendAs({ listen }, from('192.0.2.1'), from('192.0.2.2'), from('192.0.2.1'))

  expect(got).toEqual(['200 1', '200 2', '200 1'])
})

test('clients without credentials behind one address are one: who knows the key and the body is told', async () => {
  const got = await sendAs({}, ['X-Forwarded-For', '192.0.2.1'], ['X-Forwarded-For', '192.0.2.2'])

  expect(got).toEqual(['200 1', '200 1'])
})

test('a client that sends the key of another one with another body does not keep it from being served', async () => {
  const upstream = await httpUpstream((_, response) => response.end(String(upstream.requests.length)))
  const { port } = await bootGateway({ upstream: upstream.url, ...idempotency, ...auth })
  const send = async (client: 'a' | 'b', body: string) => {
    const fields = ['Idempotency-Key', 'k-1', ...keyOf(client, 'one')]
    const got = await call(port, { method: 'POST', target: '/valuation/score', fields, body: Buffer.from(body) })
    return [got.status, fieldValues(got.fields, 'idempotency-replayed')]
  }

  expect([await send('b', 'evil'), await send('a', 'good'), await send('a', 'good')]).toEqual([
    [200, []],
    [200, []],
    [200, ['true']],
  ])
})
