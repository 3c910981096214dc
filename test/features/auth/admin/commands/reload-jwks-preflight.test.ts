/**
 * The preflight of the keys of an issuer that an edit adds, over real sockets. When it is retried is
 * `reloader-*.test.ts`'s.
 */
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../helpers/free-port.ts'
import type { Settings } from '../../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../../helpers/live-gateway.ts'
import { audience, issuer, jwks, signingKey, signToken } from '../../../../helpers/tokens.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

const key = signingKey('ES256', 'one')

const guarded = (url: string, more: object = {}, preflight = 'connect'): Settings => ({
  auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: url, ...more } },
  clients: [{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }],
  reload: { watch: false, preflight },
})

/** Opens an issuer that responds with what `reply` holds. */
const openIssuer = async (reply: { status: number; text: string }) =>
  httpUpstream((_, response) => void response.writeHead(reply.status).end(reply.text))

/** Boots a gateway without authentication whose file has been edited to ask for tokens with keys at `url`. */
const edited = async (url: string, more: object = {}, preflight = 'connect') => {
  const upstream = await httpUpstream()
  const live = await bootLiveGateway({ upstream: upstream.url, reload: { watch: false, preflight } })
  live.edit({ upstream: upstream.url, ...guarded(url, more, preflight) })
  return live
}

const reload = ({ admin }: LiveGateway, query = '') => fetchAdmin(`${admin}/reload${query}`, 'POST')

const sendRequest = async ({ url }: LiveGateway): Promise<number> => {
  const response = await fetch(`${url}/market/insights`, { headers: { authorization: `Bearer ${signToken(key)}` } })
  await response.arrayBuffer()
  return response.status
}

const problem = {
  line: 1,
  path: 'auth.jwt.jwks',
  message: 'the keys that the edit brings cannot be had, so no token would be good',
}

describe('an edit that adds a URL without keys', () => {
  test.each<[string, { status: number; text: string }, object, string]>([
    ['answers 404', { status: 404, text: '' }, {}, 'it answered 404'],
    ['is no JSON', { status: 200, text: '<html>' }, {}, 'it is not JSON'],
    ['is empty', { status: 200, text: jwks() }, {}, 'it holds no key for PS256, ES256, EdDSA, Ed25519'],
    ['is for others', { status: 200, text: jwks(key) }, { algorithms: ['EdDSA'] }, 'it holds no key for EdDSA'],
  ])('is held back where what is there %s, and what ran runs on', async (_, reply, more, reason) => {
    const { url } = await openIssuer(reply)
    const live = await edited(`${url}/jwks?key=hidden`, more)
    const { hash } = live.gateway.config

    const { status, body } = await reload(live)

    expect(status).toBe(422)
    expect(body).toMatchObject({ code: 'endpoints-not-reached', hash, nextTry: expect.stringMatching(/Z$/) })
    expect(body.problems).toMatchObject([{ ...problem, found: `${url}/jwks ${reason}` }])
    expect(await sendRequest(live)).toBe(200)
  })

  test('is held back where no server listens', async () => {
    const live = await edited(`http://127.0.0.1:${await freePort()}/jwks`)

    expect((await reload(live)).body.problems).toMatchObject([
      { ...problem, found: expect.stringContaining('ECONNREFUSED') },
    ])
  })

  test('is held back as a change from keys that are there, whose tokens go on being good', async () => {
    const { url } = await openIssuer({ status: 200, text: jwks(key) })
    const upstream = await httpUpstream()
    const live = await bootLiveGateway({ upstream: upstream.url, ...guarded(`${url}/jwks`) })
    live.edit({ upstream: upstream.url, ...guarded(`http://127.0.0.1:${await freePort()}/jwks`) })

    const { status } = await reload(live)

    expect([status, await sendRequest(live)]).toEqual([422, 200])
  })

  test('takes effect by itself as soon as they are there', async () => {
    const reply = { status: 503, text: '' }
    const { url } = await openIssuer(reply)
    const live = await edited(`${url}/jwks`)
    await reload(live)

    Object.assign(reply, { status: 200, text: jwks(key) })
    const applied = await live.line(({ msg }) => msg === 'configuration applied')

    expect(applied).toMatchObject({ trigger: 'preflight' })
    expect(await sendRequest(live)).toBe(200)
    expect((await fetch(`${live.url}/market/insights`)).status).toBe(401)
  })

  test('is taken by force, and tokens are 503', async () => {
    const live = await edited(`http://127.0.0.1:${await freePort()}/jwks`)

    const { status, body } = await reload(live, '?force')

    expect([status, body.forced, await sendRequest(live)]).toEqual([200, true, 503])
  })

  test('is taken with reload.preflight: none', async () => {
    const live = await edited(`http://127.0.0.1:${await freePort()}/jwks`, {}, 'none')

    expect((await reload(live)).status).toBe(200)
  })
})

describe('keys are not checked', () => {
  test('where the edit leaves their URL as it is: an outage of the issuer keeps no other edit back', async () => {
    const reply = { status: 200, text: jwks(key) }
    const { url } = await openIssuer(reply)
    const upstream = await httpUpstream()
    const live = await bootLiveGateway({ upstream: upstream.url, ...guarded(`${url}/jwks`) })
    expect(await sendRequest(live)).toBe(200)
    Object.assign(reply, { status: 503, text: '' })
    live.edit({ upstream: upstream.url, ...guarded(`${url}/jwks`, { audience: [audience, 'https://other.example'] }) })

    const { status } = await reload(live)

    expect([status, await sendRequest(live)]).toEqual([200, 200])
  })

  test('at a start: it does not depend on the issuer, and says that there are none', async () => {
    const live = await bootLiveGateway(guarded(`http://127.0.0.1:${await freePort()}/jwks`))

    const logged = await live.line(({ msg }) => msg === 'keys of the issuer cannot be fetched')

    expect(logged).toMatchObject({ level: 40 })
    expect(await sendRequest(live)).toBe(503)
  })
})
