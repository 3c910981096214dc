import { describe, expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

/**
 * Boots a gateway before an upstream that says in its response what it finds in one field of the request, and no Vary.
 */
const boot = async (name: string, trustedProxies: readonly string[] = [], listen: Record<string, unknown> = {}) => {
  const upstream = await httpUpstream((arrived, response) => {
    response.setHeader('Cache-Control', 'public, max-age=60')
    response.end(`for ${receivedValues(arrived, name.toLowerCase()).join()}`)
  })
  const { port } = await bootGateway({
    upstream: upstream.url,
    listen: { trustedProxies, ...listen },
    operations: { 'market.insights': { cache: true } },
  })
  const ask = async (...fields: string[]) => {
    const { body, fields: answered } = await call(port, { fields })
    return { text: body.toString(), did: fieldValues(answered, 'cache-status').join() }
  }
  return { ask, upstream }
}

test('where the gateway writes Forwarded itself, clients share what is stored, and hosts do not', async () => {
  const { ask } = await boot('forwarded', ['127.0.0.1'], { forwarded: 'rfc7239' })

  const asked = [
    await ask('Forwarded', 'for=192.0.2.1;host=shop'),
    await ask('Forwarded', 'for="[2001:db8::1]:4711";host=shop'),
    await ask('Forwarded', 'for=192.0.2.1;host=other'),
  ]

  expect(asked.map(({ did }) => /hit/.test(did))).toEqual([false, true, false])
  expect(asked[2]?.text).toBe('for for=192.0.2.1;proto=http;host="other", for=127.0.0.1')
})

// The attack: a field that the upstream goes by, and that is not in the key. Its response is stored, and every other
// client is answered with it.
describe('a field by which a client names another target than that of the request', () => {
  test.each([
    ['X-Original-URL', '/leads/pipeline'],
    ['X-Rewrite-URL', '/admin'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Host', 'evil.example'],
    ['X-Original-Host', 'evil.example'],
  ])('%s changes the response of no other client', async (name, value) => {
    const { ask } = await boot(name, [], { overrideFields: 'forward' })

    const poisoned = await ask(name, value)
    const others = await ask()

    expect(poisoned.text).toBe(`for ${value}`)
    expect(others.text).toBe('for ')
  })

  test.each([
    ['X-Forwarded-Prefix', '/evil'],
    ['X-Forwarded-Port', '81'],
    ['X-Forwarded-Server', 'evil.example'],
    ['Forwarded', 'for=192.0.2.1;host=evil.example'],
  ])('%s that a trusted proxy has passed on does not either', async (name, value) => {
    const { ask } = await boot(name, ['127.0.0.1'])

    const poisoned = await ask(name, value)
    const others = await ask()

    expect(poisoned.text).toBe(`for ${value}`)
    expect(others.text).toBe('for ')
  })
})

test('a trusted proxy that names each client in Forwarded does not keep them from sharing', async () => {
  const { ask, upstream } = await boot('x-nothing', ['127.0.0.1'])

  await ask('Forwarded', 'for=192.0.2.1;proto=https, for="[2001:db8::1]:80"')
  const { did } = await ask('Forwarded', 'for=192.0.2.77;proto=https, for="[2001:db8::2]:81"')

  expect(did).toMatch(/;hit;/)
  expect(upstream.requests).toHaveLength(1)
})

// The attack: the upstream knows its clients by what a mesh or an authenticating proxy writes, and the gateway asks for
// no credential.
test.each(['X-Forwarded-Client-Cert', 'X-Forwarded-User', 'X-Forwarded-Email', 'X-Forwarded-Access-Token'])(
  'a client that is named in %s gets no stored response, and its own is not stored',
  async (name) => {
    const { ask, upstream } = await boot(name, ['127.0.0.1'])

    const [one, again, other] = [await ask(name, 'a'), await ask(name, 'a'), await ask(name, 'b')]

    expect([one.text, again.text, other.text]).toEqual(['for a', 'for a', 'for b'])
    expect(one.did).toMatch(/;fwd=bypass/)
    expect(upstream.requests).toHaveLength(3)
  },
)
