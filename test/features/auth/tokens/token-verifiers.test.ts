import { expect, test } from 'vitest'
import { systemMs } from '../../../../src/core/lib/clock.ts'
import type { Reported } from '../../../../src/core/runtime/status/field.ts'
import type { JwtConfig } from '../../../../src/features/auth/config.ts'
import { tokensField } from '../../../../src/features/auth/status.ts'
import { createTokenVerifiers, type KeysHandover } from '../../../../src/features/auth/tokens/token-verifiers.ts'
import { audience, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const key = signingKey('ES256', 'a')

const nothing = (): void => {}

const jwtConfig = (url: string, clockTolerance = 0): JwtConfig => ({
  ...{ issuer, audience: [audience], jwks: { url }, algorithms: ['ES256'], types: ['at+jwt'], clockTolerance },
})

test('keys and verified tokens go on from snapshot to snapshot, as long as any uses them', async () => {
  const server = await httpUpstream((_, response) => void response.end(jwks(key)))
  const verifiers = createTokenVerifiers(nothing)
  const token = signToken(key)
  const before = verifiers.acquireJwt(jwtConfig(server.url))
  await before.getClaims(token)

  const after = verifiers.acquireJwt(jwtConfig(server.url))
  const edited = verifiers.acquireJwt(jwtConfig(server.url, 1000))
  before.release()

  expect(after.getClaims(token)).not.toBeInstanceOf(Promise)
  // An edit of the checks forgets the tokens, and no keys.
  expect(edited.getClaims(token)).toBeInstanceOf(Promise)
  expect(server.requests).toHaveLength(1)
  after.release()
  edited.release()
  await expect.poll(server.connections).toBe(0)
})

test('an outage of the issuer is logged, with its origin', async () => {
  const server = await httpUpstream((_, response) => void response.writeHead(302, { location: '/elsewhere' }).end())
  const events: unknown[] = []
  const verifiers = createTokenVerifiers((...line) => events.push(line))
  const lease = verifiers.acquireJwt(jwtConfig(`${server.url}/keys?secret`))

  await expect(lease.getClaims(signToken(key))).rejects.toThrow('it responded with 302')

  expect(events).toEqual([
    ['warn', 'keys of the issuer cannot be fetched', { from: server.url, reason: 'it responded with 302' }],
  ])
  expect(lease.state()).toMatchObject({ keys: 0, error: 'it responded with 302', lastSuccess: null })
  lease.release()
})

test('an introspection that an edit ends is no outage', async () => {
  const server = await httpUpstream(() => {})
  const events: unknown[] = []
  const verifiers = createTokenVerifiers((...line) => events.push(line))
  const lease = verifiers.acquireIntrospection({
    ...{ url: `${server.url}/introspect`, clientId: 'gateway', clientSecret: 'secret', timeout: 30_000, cache: 30_000 },
    ...{ issuer: null, audience: null, clockTolerance: 0 },
  })
  const asked = Promise.resolve(lease.getClaims('token')).catch((error: unknown) => error)
  await expect.poll(() => server.requests.length).toBe(1)

  lease.release()

  expect(await asked).toMatchObject({ reason: 'introspection-server' })
  expect(events).toEqual([])
})

type TokensReport = Reported<typeof tokensField>

const report = (jwt: TokensReport['jwt'], proofs: TokensReport['proofs'] = null): TokensReport => ({
  ...{ jwt, introspection: null, proofs },
})
const well = { source: 'url', keys: 2, error: null, since: 5, lastSuccess: 9, where: null } as const
const ill = { ...well, error: 'gone', since: 7 }
const without = { ...ill, keys: 0, since: 8, lastSuccess: null }
const since3 = { ...well, since: 3 }
const full = { remembered: 3, room: 4 }

test.each<[string, TokensReport, TokensReport[], TokensReport]>([
  ['the worst', report(well), [report(well), report(ill)], report({ ...ill, where: 'in 1 of 2 workers' })],
  ['the oldest of those that are well', report(ill), [report(well), report(since3)], report(since3)],
  ['its own where there are none', report(well), [], report(well)],
  ['one without keys', report(ill), [report(ill), report(without)], report({ ...without, where: 'in 1 of 2 workers' })],
  ['the replay window of the primary', report(null, full), [report(null), report(null)], report(null, full)],
])('of several workers the state that is reported is %s', (_, primary, workers, expected) => {
  expect(tokensField.merge(primary, workers)).toEqual(expected)
})

test('the keys of a URL are handed over as they were fetched, and adopted only where that URL is in use', async () => {
  const server = await httpUpstream((_, response) => void response.end(jwks(key)))
  const handedOver: KeysHandover[] = []
  const fetching = createTokenVerifiers(nothing, (keys) => handedOver.push(keys))
  const lease = fetching.acquireJwt(jwtConfig(server.url))
  await lease.getClaims(signToken(key))
  await server.close()
  const verifiers = createTokenVerifiers(nothing)
  const other = verifiers.acquireJwt(jwtConfig(`${server.url}/other`))
  const same = verifiers.acquireJwt(jwtConfig(server.url))

  for (const keys of fetching.keysToHandOver()) verifiers.adoptKeys(keys)

  expect(await same.getClaims(signToken(key))).toMatchObject({ client_id: 'bank-a' })
  await expect(other.getClaims(signToken(key))).rejects.toThrow('cannot be fetched')
  expect(handedOver).toEqual([{ url: server.url, text: jwks(key), fetchedAt: expect.any(Number) }])
  expect(handedOver[0]?.fetchedAt).toBeLessThanOrEqual(systemMs())
  expect(fetching.keysToHandOver()).toEqual(handedOver)
  for (const each of [lease, other, same]) each.release()
  expect(fetching.keysToHandOver()).toEqual([])
})
