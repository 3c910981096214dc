import { X509Certificate } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, onTestFinished } from 'vitest'
import { certificateThumbprint } from '../../../../src/features/auth/client-certificate.ts'
import { needCertificates } from '../../../helpers/certificates.ts'
import { clientCertField } from '../../../helpers/client-cert.ts'
import { type DpopClient, makeDpopClient } from '../../../helpers/dpop.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { startRedis } from '../../../helpers/redis.ts'
import { describeTests, drill, test } from '../../../helpers/speed.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import {
  boundTargetUrl,
  boundToken,
  publicUrl,
  requestWithFields,
  tokenBindingSettings,
} from '../../../helpers/token-binding.ts'
import { signingKey, signToken as unbound } from '../../../helpers/tokens.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'

const { made, missing } = await needCertificates()
const redisServer = await needProgram('redis-server')

const key = signingKey('ES256', 'issuer')

let holder: DpopClient
let token: string
beforeAll(async () => {
  holder = await makeDpopClient()
  token = boundToken(key, { jkt: holder.jkt })
})

describeTests('a token that is bound to a key', () => {
  const site = liveGatewayForAll(tokenBindingSettings(key))
  const send = (scheme: string, shown: string, ...proofs: readonly string[]) =>
    requestWithFields(site.port, [`Authorization: ${scheme} ${shown}`, ...proofs.map((proof) => `DPoP: ${proof}`)])

  // The attack: an attacker with a stolen token sends its own proof, or a proof that the owner made for another
  // request. Invalid proofs: `dpop.test.ts`.
  test('is rejected with a proof of another key, or for another operation, and neither stands in the log', async () => {
    const other = await makeDpopClient()

    for (const [proof, cause] of [
      [await other.prove({ token, htu: boundTargetUrl }), 'the proof is of another key'],
      [await holder.prove({ token, htu: `${publicUrl}/leads/pipeline` }), 'the proof is for another target'],
    ] as const) {
      expect(await send('DPoP', token, proof)).toBe(401)
      await expect.poll(() => site.lines.some((told) => told.cause === cause)).toBe(true)
      for (const part of [...proof.split('.'), ...token.split('.')])
        expect(JSON.stringify(site.lines)).not.toContain(part)
    }
  })

  test('is worth nothing without a proof, or with two, whatever it is called; an unbound one is none of DPoP', async () => {
    const prove = (shown: string) => holder.prove({ token: shown, htu: boundTargetUrl })
    const [one, two, plain] = [await prove(token), await prove(token), unbound(key)]

    expect([await send('DPoP', token), await send('DPoP', token, one, two)]).toEqual([401, 401])
    expect([await send('Bearer', token), await send('Bearer', token, one)]).toEqual([401, 401])
    expect(await send('DPoP', token, one)).toBe(200)
    expect([await send('DPoP', plain, await prove(plain)), await send('Bearer', plain)]).toEqual([401, 200])
  })
})

// The attack: an attacker who has seen a request repeats it with token and proof, which are valid for this target and
// still young.
describe('a proof', () => {
  const seen = async (): Promise<readonly string[]> => [
    `Authorization: DPoP ${token}`,
    `DPoP: ${await holder.prove({ token, htu: boundTargetUrl })}`,
  ]

  test('is good once, and not again after an edit of how old it may be', async () => {
    const live = await bootLiveGateway(tokenBindingSettings(key))
    const { port } = live.gateway.address
    const [first, second] = [await seen(), await seen()]
    const statuses: number[] = []

    for (const fields of [first, first, second]) statuses.push(await requestWithFields(port, fields))
    await live.line(({ cause }) => cause === 'the proof was used before')
    live.edit(tokenBindingSettings(key, { dpop: { maxAge: '10s' } }))
    expect((await live.gateway.reload('request')).result).toBe('applied')
    statuses.push(await requestWithFields(port, first))

    expect(statuses).toEqual([200, 401, 200, 401])
    const { body } = await fetchAdmin(`${live.admin}/status`)
    expect(body.tokens).toMatchObject({ proofs: { remembered: 2, room: 1_000_000 } })
  })

  // In `npm test`, `replay-cache.test.ts` shows it.
  drill('is good once, by whichever of several workers it comes in', async () => {
    const script = fileURLToPath(new URL('../../workers/short-timeouts.ts', import.meta.url))
    const gateway = await startWorkerGateway({ workers: 2, ...tokenBindingSettings(key) }, [script])
    onTestFinished(() => gateway.stop())
    const proof = await seen()

    const statuses = await Promise.all(Array.from({ length: 10 }, () => requestWithFields(gateway.port, proof)))

    expect(statuses.toSorted()).toEqual([200, ...new Array(9).fill(401)])
  })

  test.skipIf(redisServer.missing)('is good once, by whichever of several gateways it comes in', async () => {
    const redis = await startRedis(redisServer.path ?? '')
    onTestFinished(() => redis.kill())
    const proof = await seen()
    const statuses: number[] = []

    for (let n = 0; n < 2; n++) {
      const limits = { redis: { url: redis.url, prefix: 'once', timeout: '1s' } }
      const { line, port } = await bootGateway({ ...tokenBindingSettings(key), limits })
      await line(({ msg }) => msg === 'limits are shared')
      statuses.push(await requestWithFields(port, proof))
    }

    expect(statuses).toEqual([200, 401])
  })
})

// The attack: a client with a valid certificate has a token that was issued to another client (RFC 8705 §3).
describeTests.skipIf(missing)('a token that is bound to a certificate', () => {
  let shown: readonly string[]
  beforeAll(() => {
    const bound = boundToken(key, { 'x5t#S256': certificateThumbprint(new X509Certificate(made.client.cert)) })
    shown = [`Authorization: Bearer ${bound}`]
  })
  const { auth = {}, clients = [] } = tokenBindingSettings(key, { dpop: 'none', bound: 'required' })

  test('is worth nothing on the connection of another client', async () => {
    const tls = { clientCertificates: 'optional', clientCa: made.authority.cert }
    const { port, line } = await bootTlsGateway(made.right, tls, { auth, clients })

    const own = await requestOverTls(port, made.client, shown)
    const resumed = await requestOverTls(port, { session: own.session }, shown)
    const others = await requestOverTls(port, made.bankA, shown)
    const none = await requestOverTls(port, {}, shown)

    expect([own, resumed, others, none].map(({ status }) => status)).toEqual([200, 200, 401, 401])
    expect(resumed.resumed).toBe(true)
    expect(others.text).toContain('WWW-Authenticate: Bearer realm="lender-gateway", error="invalid_token"\r\n')
    await line(({ cause }) => cause === 'the token is bound to another certificate')
  })

  test('nor behind a proxy that says that it was shown another one', async () => {
    const listen = { trustedProxies: ['127.0.0.1'] }
    const { port } = await bootGateway({ listen, auth: { ...auth, mtls: { from: 'client-cert' } }, clients })
    const ask = (...pems: readonly string[]) =>
      requestWithFields(port, [...shown, ...pems.map((pem) => `Client-Cert: ${clientCertField(pem)}`)])

    expect([await ask(made.client.cert), await ask(made.bankA.cert), await ask()]).toEqual([200, 401, 401])
  })
})
