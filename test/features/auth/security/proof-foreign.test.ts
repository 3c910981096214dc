import { beforeAll, expect, test } from 'vitest'
import { type DpopClient, makeDpopClient, type ProofOptions } from '../../../helpers/dpop.ts'
import { bootGateway, type TestGateway } from '../../../helpers/gateway.ts'
import {
  boundTargetUrl,
  boundToken,
  publicUrl,
  requestWithFields,
  tokenBindingSettings,
} from '../../../helpers/token-binding.ts'
import { signingKey, signToken as unbound } from '../../../helpers/tokens.ts'

const key = signingKey('ES256', 'issuer')

let holder: DpopClient
let other: DpopClient
let token: string
beforeAll(async () => {
  holder = await makeDpopClient()
  other = await makeDpopClient()
  token = boundToken(key, { jkt: holder.jkt })
})

const boot = (auth: object = {}): Promise<TestGateway> => bootGateway(tokenBindingSettings(key, auth))
const send = (port: number, scheme: string, shown: string, proofs: readonly string[], method = 'GET') =>
  requestWithFields(port, [`Authorization: ${scheme} ${shown}`, ...proofs.map((proof) => `DPoP: ${proof}`)], method)
const seconds = (more: number): number => Math.floor(Date.now() / 1000) + more

// The attack: an attacker who has got hold of a token sends a proof of his own, or one that its owner made for
// something else.
test.each<readonly [what: string, prove: () => Promise<string>, cause: string]>([
  ['another key', () => other.prove({ token, htu: boundTargetUrl }), 'the proof is of another key'],
  [
    'another key, beside the right one',
    () => other.prove({ token, htu: boundTargetUrl, header: { jwk: holder.jwk } }),
    'the proof is not good: ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  ],
  [
    'another method',
    () => holder.prove({ token, htu: boundTargetUrl, htm: 'POST' }),
    'the proof is for another method',
  ],
  [
    'another operation',
    () => holder.prove({ token, htu: `${publicUrl}/leads/pipeline` }),
    'the proof is for another target',
  ],
  [
    'another server',
    () => holder.prove({ token, htu: boundTargetUrl.replace('gateway', 'evil') }),
    'the proof is for another target',
  ],
  ['another token', () => holder.prove({ token: 'another', htu: boundTargetUrl }), 'the proof is for another token'],
  [
    'an hour ago',
    () => holder.prove({ token, htu: boundTargetUrl, claims: { iat: seconds(-3600) } }),
    'the proof is not good: ERR_JWT_EXPIRED',
  ],
  [
    'the future',
    () => holder.prove({ token, htu: boundTargetUrl, claims: { iat: seconds(60) } }),
    'the proof is not good: ERR_JWT_CLAIM_VALIDATION_FAILED',
  ],
])('a proof of, or for, %s is rejected', async (_, prove, cause) => {
  const { port, line, lines } = await boot()
  const proof = await prove()

  expect(await send(port, 'DPoP', token, [proof])).toBe(401)
  await line((told) => told.cause === cause)
  for (const part of [...proof.split('.'), ...token.split('.')]) expect(JSON.stringify(lines)).not.toContain(part)
})

test('without a proof, or with two, a bound token is worth nothing, whatever it is called', async () => {
  const { port } = await boot()
  const right: ProofOptions = { token, htu: boundTargetUrl }
  const [one, two] = [await holder.prove(right), await holder.prove(right)]

  expect(await send(port, 'DPoP', token, [])).toBe(401)
  expect(await send(port, 'DPoP', token, [one, two])).toBe(401)
  expect(await send(port, 'Bearer', token, [])).toBe(401)
  expect(await send(port, 'Bearer', token, [one])).toBe(401)
  expect(await send(port, 'DPoP', token, [one])).toBe(200)
})

test('a token that is bound to nothing is none of DPoP, and none at all where it has to be bound', async () => {
  const [lax, strict] = [await boot(), await boot({ bound: 'required' })]
  const plain = unbound(key)
  const proof = await holder.prove({ token: plain, htu: boundTargetUrl })

  expect(await send(lax.port, 'DPoP', plain, [proof])).toBe(401)
  expect(await send(lax.port, 'Bearer', plain, [])).toBe(200)
  expect(await send(strict.port, 'Bearer', plain, [])).toBe(401)
})

test('a token that is bound to a key is rejected where proofs are not taken', async () => {
  const { port } = await boot({ dpop: 'none' })

  expect(await send(port, 'DPoP', token, [await holder.prove({ token, htu: boundTargetUrl })])).toBe(401)
  expect(await send(port, 'Bearer', token, [])).toBe(401)
})
