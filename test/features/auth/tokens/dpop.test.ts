import { generateKeyPairSync, hash, randomUUID, sign } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { dpopProofChecker, jwkThumbprint, publicJwk } from '../../../../src/features/auth/tokens/dpop.ts'
import { createReplayWindow, type ReplayCache } from '../../../../src/features/auth/tokens/replay-cache.ts'
import { type DpopClient, makeDpopClient, type ProofOptions } from '../../../helpers/dpop.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { encodePart, signingKey } from '../../../helpers/tokens.ts'

const options = {
  algorithms: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
  maxAge: 60_000,
  clockTolerance: 5000,
  publicUrl: 'https://gateway.example/base',
}
const token = 'a-token'
const here = 'https://gateway.example/base/market/insights'
const invalid = `DPoP realm="lender-gateway", error="invalid_dpop_proof", algs="${options.algorithms.join(' ')}"`

let holder: DpopClient
beforeAll(async () => {
  holder = await makeDpopClient()
})
afterEach(() => void vi.useRealTimers())

/** Sends proofs, one request each, and returns the outcomes: `good`, or the error that the client gets, and causes. */
const sendAndTell = async (
  proofs: readonly (string | readonly string[])[],
  { jkt = holder.jkt, replayCache = createReplayWindow(100_000) as ReplayCache, shown = token, by = options } = {},
) => {
  const check = dpopProofChecker(by, replayCache)
  const outcomes: string[] = []
  const causes: unknown[] = []
  for (const proof of proofs) {
    const fields = [proof].flat().flatMap((each) => ['DPoP', each])
    await check(fakeExchange({ fields }), shown, jkt, 'bank-a').then(
      () => outcomes.push('good'),
      (error: GatewayError) => {
        outcomes.push(`${error.kind}: ${error.fields[1]}`)
        causes.push(error.cause)
      },
    )
  }
  return { outcomes, causes }
}

const send = async (...args: Parameters<typeof sendAndTell>) => (await sendAndTell(...args)).outcomes

const rejection = `unauthenticated: ${invalid}`
const right: ProofOptions = { token, htu: here }
const seconds = (more: number): number => Math.floor(Date.now() / 1000) + more

test.each(['ES256', 'PS256', 'EdDSA', 'Ed25519'])('a proof that is signed with %s is good', async (alg) => {
  const other = await makeDpopClient(alg)

  expect(await send([await other.prove(right), await other.prove(right)], other)).toEqual(['good', 'good'])
})

test.each([
  `${here}?a=b#c`,
  'HTTPS://Gateway.Example:443/base/market/insights',
  'https://gateway.example/base/x/../market/insights',
])('where it is for is compared as URLs are: %s', async (htu) => {
  expect(await send([await holder.prove({ ...right, htu })])).toEqual(['good'])
})

test.each<readonly [what: string, wanted: Partial<ProofOptions>]>([
  ...[
    ...['https://gateway.example/base/leads/pipeline', 'https://other.example/base/market/insights', `${here}/`],
    ...['https://gateway.example:8443/base/market/insights', 'http://gateway.example/base/market/insights'],
    ...['https://gateway.example/market/insights', 'https://gateway.example/base/%6darket/insights', `blob:${here}`],
    ...[
      'https://a@gateway.example/base/market/insights',
      '/base/market/insights',
      here.replace('.example', '.example.'),
    ],
    ...[here.replace('/market', '//market'), here.replace('/base', '\\@evil.example/base'), [here]],
  ].map((htu) => [String(htu), { htu }] as const),
  ['another method', { htm: 'POST' }],
  ['a method in lower case', { htm: 'get' }],
  ['another token', { token: 'another' }],
  ...[
    ...[
      { ath: undefined },
      { iat: undefined },
      { iat: String(seconds(0)) },
      { iat: seconds(-70) },
      { iat: seconds(10) },
    ],
    ...[{ iat: 1e308 }, { exp: seconds(-10) }],
    ...[{ jti: undefined }, { jti: '' }, { jti: 'x'.repeat(257) }, { jti: 1 }],
  ].map((claims) => [`the claims ${JSON.stringify(claims)}`, { claims }] as const),
  ...[
    ...[{ typ: 'JWT' }, { typ: undefined }, { jwk: undefined }, { jwk: 'key' }, { crit: ['x'], x: 1 }],
    ...[
      { jwk: undefined, jku: 'https://a.example/', x5u: 'https://a.example/' },
      { crit: ['b64'], b64: false },
    ],
  ].map((header) => [`the header ${JSON.stringify(header)}`, { header }] as const),
])('a proof for, or with, %s is rejected', async (_, wanted) => {
  expect(await send([await holder.prove({ ...right, ...wanted }).catch(() => 'unsigned')])).toEqual([rejection])
})

test('the log says why a proof is rejected', async () => {
  const other = await makeDpopClient()
  const wanted: Partial<ProofOptions>[] = [
    { htu: 'https://gateway.example/base/leads/pipeline' },
    { htm: 'POST' },
    { token: 'another' },
    { claims: { iat: seconds(-3600) } },
    { claims: { iat: seconds(60) } },
  ]
  const proofs = wanted.map((each) => holder.prove({ ...right, ...each }))
  const ofOthers = [other.prove(right), other.prove({ ...right, header: { jwk: holder.jwk } })]

  const { outcomes, causes } = await sendAndTell(await Promise.all([...proofs, ...ofOthers]))

  expect(outcomes).toEqual(new Array(7).fill(rejection))
  expect(causes).toEqual([
    ...['the proof is for another target', 'the proof is for another method', 'the proof is for another token'],
    ...['the proof is invalid: ERR_JWT_EXPIRED', 'the proof is invalid: ERR_JWT_CLAIM_VALIDATION_FAILED'],
    ...['the proof is of another key', 'the proof is invalid: ERR_JWS_SIGNATURE_VERIFICATION_FAILED'],
  ])
})

test('a proof with a private key is rejected', async () => {
  const proofs = ['d', 'k', 'p'].map((name) =>
    holder.prove({ ...right, header: { jwk: { ...holder.jwk, [name]: 'AA' } } }),
  )

  expect(await send(await Promise.all(proofs))).toEqual([rejection, rejection, rejection])
})

test.each([
  [512, rejection.replace(/algs=.*/, 'algs="RS256"')],
  [1024, rejection.replace(/algs=.*/, 'algs="RS256"')],
  [2048, 'good'],
])('a proof with an RSA key of %d bits, which a token is bound to: %s', async (bits, wanted) => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  const jwk = publicKey.export({ format: 'jwk' })
  const claims = { htm: 'GET', htu: here, jti: 'a', iat: seconds(0), ath: hash('sha256', token, 'base64url') }
  const signed = `${encodePart({ typ: 'dpop+jwt', alg: 'RS256', jwk })}.${encodePart(claims)}`
  const proof = `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`
  const jkt = await calculateJwkThumbprint(jwk as JWK)

  expect(await send([proof], { jkt, by: { ...options, algorithms: ['RS256'] } })).toEqual([wanted])
})

test.each(['none', 'HS256', 'RS256', 'ES384'])('a proof with the algorithm %s is rejected', async (alg) => {
  const [, payload, signature] = (await holder.prove(right)).split('.')
  const header = { typ: 'dpop+jwt', alg, jwk: holder.jwk }

  expect(await send([`${encodePart(header)}.${payload}.${signature}`])).toEqual([rejection])
})

test('exactly one proof is accepted', async () => {
  const [one, other] = [await holder.prove(right), await holder.prove(right)]

  const none: readonly string[] = []
  expect(await send([none, [one, other], `${one}, ${other}`, '', '..', `${one}${'A'.repeat(5000)}`])).toEqual(
    new Array(6).fill(rejection),
  )
})

test('a proof that has come before is rejected; the jti counts for its key', async () => {
  const other = await makeDpopClient()
  const jti = randomUUID()
  const replayCache = createReplayWindow(100_000)
  const mine = await holder.prove({ ...right, claims: { jti } })

  const outcomes = [
    ...(await send([mine, mine], { replayCache })),
    ...(await send([await other.prove({ ...right, claims: { jti } })], { replayCache, jkt: other.jkt })),
  ]

  expect(outcomes).toEqual(['good', rejection, 'good'])
})

test('a proof that is rejected for something else is not used up', async () => {
  const replayCache = createReplayWindow(100_000)
  const proof = await holder.prove(right)

  expect(await send([proof], { replayCache, shown: 'another' })).toEqual([rejection])
  expect(await send([proof], { replayCache })).toEqual(['good'])
})

test('where the replay cache cannot tell, no client is let in', async () => {
  const replayCache: ReplayCache = { record: async () => 0 }

  expect(await send([await holder.prove(right)], { replayCache })).toEqual(['identity-unavailable: 1'])
})

// The replay cache may have forgotten the proof by then: a copy sent in the last moment would be accepted.
test.each([
  ['just in time', 5999, 'good'],
  ['too late', 6000, rejection],
])('a proof that the replay cache calls new %s', async (_, tookMs, wanted) => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 })
  const proof = await holder.prove({ ...right, claims: { iat: seconds(-60) } })
  const replayCache: ReplayCache = {
    record: async () => {
      vi.setSystemTime(Date.now() + tookMs)
      return 1
    },
  }

  expect(await send([proof], { replayCache })).toEqual([wanted])
})

describe('the thumbprint of a key', () => {
  test('is that of the appendix of RFC 8037', () => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }

    expect(jwkThumbprint(jwk)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k') // appendix A.3
  })

  test.each(['ES256', 'PS256', 'EdDSA'] as const)(
    'for %s is the one that others make, whatever it says',
    async (alg) => {
      const { jwk } = signingKey(alg, 'kid')

      expect(jwkThumbprint(publicJwk(jwk) ?? {})).toBe(await calculateJwkThumbprint(jwk))
    },
  )
})
