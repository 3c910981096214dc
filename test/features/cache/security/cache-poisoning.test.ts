/**
 * Attack: the upstream's response depends on a field that is not in the key, and every other client gets the stored
 * response.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openGateway, type Settings } from '../../../helpers/gateway.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

/** The upstream repeats the field that the query names, and sends no Vary. */
const forAll = (listen: Record<string, unknown> = {}, host = 'endpoint') => {
  let upstream: TestUpstream
  let gateway: Awaited<ReturnType<typeof openGateway>>
  beforeAll(async () => {
    upstream = await openHttpUpstream((arrived, response) => {
      const name = arrived.url.replace(/^.*\?/, '').toLowerCase()
      response.setHeader('Cache-Control', 'public, max-age=60')
      response.end(`for ${receivedValues(arrived, name).join()}`)
    })
    const settings: Settings = { listen, operations: { 'market.insights': { cache: true } } }
    gateway = await openGateway({ ...settings, upstream: { endpoints: [upstream.url], host } })
  })
  afterAll(async () => {
    await gateway.gateway.close()
    await upstream.close()
  })
  return async (echoed: string, ...fields: string[]) => {
    const { body, fields: responded } = await call(gateway.port, { target: `/market/insights?${echoed}`, fields })
    return { text: body.toString(), did: fieldValues(responded, 'cache-status').join() }
  }
}

describe('a field by which a client names another target than that of the request', () => {
  const ask = forAll({ overrideFields: 'forward' })

  test.each([
    ['X-Original-URL', '/leads/pipeline'],
    ['X-Rewrite-URL', '/admin'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Host', 'evil.example'],
    ['X-Original-Host', 'evil.example'],
  ])('%s changes the response of no other client', async (name, value) => {
    expect((await ask(name, name, value)).text).toBe(`for ${value}`)
    expect((await ask(name)).text).toBe('for ')
  })

  test('Host, of which the upstream hears in X-Forwarded-Host, changes it for those who sent it', async () => {
    const by = async (host: string) => (await ask('x-forwarded-host', 'Host', host)).text

    expect([await by('evil.example'), await by('gateway.example')]).toEqual(['for evil.example', 'for gateway.example'])
  })
})

describe('that a trusted proxy has passed on:', () => {
  const ask = forAll({ trustedProxies: ['127.0.0.1'] }, 'client')

  test.each([
    ['X-Forwarded-Prefix', '/evil'],
    ['X-Forwarded-Port', '81'],
    ['X-Forwarded-Server', 'evil.example'],
    ['Forwarded', 'for=192.0.2.1;host=evil.example'],
  ])('%s changes the response of no other client', async (name, value) => {
    expect((await ask(name, name, value)).text).toBe(`for ${value}`)
    expect((await ask(name)).text).toBe('for ')
  })

  test('Host, which the upstream is sent, changes it for those who sent it', async () => {
    const by = async (host: string) => (await ask('host', 'Host', host)).text

    expect([await by('evil.example'), await by('gateway.example')]).toEqual(['for evil.example', 'for gateway.example'])
  })

  test('a scheme changes it for those who used that scheme', async () => {
    const by = async (scheme: string) => (await ask('x-forwarded-proto', 'X-Forwarded-Proto', scheme)).text

    expect([await by('http'), await by('https')]).toEqual(['for http', 'for https'])
  })

  test('clients that are named in Forwarded share what is stored', async () => {
    await ask('x-nothing', 'Forwarded', 'for=192.0.2.1;proto=https, for="[2001:db8::1]:80"')
    const { did } = await ask('x-nothing', 'Forwarded', 'for=192.0.2.77;proto=https, for="[2001:db8::2]:81"')

    expect(did).toMatch(/;hit;/)
  })

  // The attack: the upstream identifies clients by a field of a mesh or proxy, and the gateway has no auth.
  test.each(['X-Forwarded-Client-Cert', 'X-Forwarded-User', 'X-Forwarded-Email', 'X-Forwarded-Access-Token'])(
    'a client that is named in %s gets no stored response, and its own is not stored',
    async (name) => {
      const [one, again, other] = [await ask(name, name, 'a'), await ask(name, name, 'a'), await ask(name, name, 'b')]

      expect([one.text, again.text, other.text]).toEqual(['for a', 'for a', 'for b'])
      for (const { did } of [one, again, other]) expect(did).toMatch(/;fwd=bypass/)
    },
  )
})

describe('where the gateway writes Forwarded itself,', () => {
  const ask = forAll({ trustedProxies: ['127.0.0.1'], forwarded: 'rfc7239' })

  test('clients share what is stored, and hosts do not', async () => {
    const asked = [
      await ask('forwarded', 'Forwarded', 'for=192.0.2.1;host=shop'),
      await ask('forwarded', 'Forwarded', 'for="[2001:db8::1]:4711";host=shop'),
      await ask('forwarded', 'Forwarded', 'for=192.0.2.1;host=other'),
    ]

    expect(asked.map(({ did }) => /hit/.test(did))).toEqual([false, true, false])
    expect(asked[2]?.text).toBe('for for=192.0.2.1;proto=http;host="other", for=127.0.0.1')
  })
})
