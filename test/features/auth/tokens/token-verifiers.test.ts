import { expect, test } from 'vitest'
import { systemMs } from '../../../../src/core/lib/clock.ts'
import type { Reported } from '../../../../src/core/runtime/status/field.ts'
import type { JwtConfig } from '../../../../src/features/auth/config.ts'
import { tokensField } from '../../../../src/features/auth/status.ts'
import { createTokenVerifiers, type KeysHandover } from '../../../../src/features/auth/tokens/token-verifiers.ts'
import { audience, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const key = signingKey('ES256', 'a')

const jwtConfig = (url: string, other: Partial<JwtConfig> = {}): JwtConfig => ({
  issuer,
  audience: [audience],
  jwks: { url },
  algorithms: ['ES256'],
  types: ['at+jwt'],
  clockTolerance: 0,
  ...other,
})

test('keys and verified tokens go on from snapshot to snapshot, as long as any uses them', async () => {
  const server = await httpUpstream((_, response) => void response.end(jwks(key)))
  const verifiers = createTokenVerifiers(() => {})
  const token = signToken(key)
  const before = verifiers.acquireJwt(jwtConfig(server.url))
  await before.getClaims(token)

  const after = verifiers.acquireJwt(jwtConfig(server.url))
  const edited = verifiers.acquireJwt(jwtConfig(server.url, { clockTolerance: 1000 }))
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

  await expect(lease.getClaims(signToken(key))).rejects.toThrow('it answered 302')

  expect(events).toEqual([
    ['warn', 'keys of the issuer cannot be fetched', { from: server.url, reason: 'it answered 302' }],
  ])
  expect(lease.state()).toMatchObject({ keys: 0, error: 'it answered 302', lastSuccess: null })
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

test('of several workers the worst state is reported, and in how many it is so', () => {
  const well = { source: 'url', keys: 2, error: null, since: 5, lastSuccess: 9, where: null } as const
  const ill = { ...well, error: 'gone', since: 7 }
  const report = (jwt: TokensReport['jwt']): TokensReport => ({ jwt, introspection: null, proofs: null })

  expect(tokensField.merge(report(well), [report(well), report(ill)])).toEqual(
    report({ ...ill, where: 'in 1 of 2 workers' }),
  )
  expect(tokensField.merge(report(ill), [report(well), report({ ...well, since: 3 })])).toEqual(
    report({ ...well, since: 3 }),
  )
  expect(tokensField.merge(report(well), [])).toEqual(report(well))
})

test('of several workers one without keys is reported before all that fail, and in how many it is so', () => {
  const ill = { source: 'url', keys: 2, error: 'gone', since: 3, lastSuccess: 2, where: null } as const
  const without = { ...ill, keys: 0, since: 7, lastSuccess: null }
  const report = (jwt: TokensReport['jwt']): TokensReport => ({ jwt, introspection: null, proofs: null })

  expect(tokensField.merge(report(ill), [report(ill), report(without)])).toEqual(
    report({ ...without, where: 'in 1 of 2 workers' }),
  )
})

test('the keys of a URL are handed over as they were fetched, and adopted only where that URL is in use', async () => {
  const server = await httpUpstream((_, response) => void response.end(jwks(key)))
  const handedOver: KeysHandover[] = []
  const fetching = createTokenVerifiers(
    () => {},
    (keys) => handedOver.push(keys),
  )
  const lease = fetching.acquireJwt(jwtConfig(server.url))
  await lease.getClaims(signToken(key))
  await server.close()
  const verifiers = createTokenVerifiers(() => {})
  const other = verifiers.acquireJwt(jwtConfig(`${server.url}/other`))
  const same = verifiers.acquireJwt(jwtConfig(server.url))

  for (const keys of fetching.keysToHandOver()) verifiers.adoptKeys(keys)

  expect(await same.getClaims(signToken(key))).toMatchObject({ client_id: 'bank-a' })
  await expect(other.getClaims(signToken(key))).rejects.toThrow('cannot be had')
  expect(handedOver).toEqual([{ url: server.url, text: jwks(key), fetchedAt: expect.any(Number) }])
  expect(handedOver[0]?.fetchedAt).toBeLessThanOrEqual(systemMs())
  expect(fetching.keysToHandOver()).toEqual(handedOver)
  for (const each of [lease, other, same]) each.release()
  expect(fetching.keysToHandOver()).toEqual([])
})

test('the replay window of several workers is the one of the primary', () => {
  const of = (proofs: TokensReport['proofs']): TokensReport => ({ jwt: null, introspection: null, proofs })
  const full = { remembered: 3, room: 4 }

  expect(tokensField.merge(of(full), [of(null), of(null)])).toEqual(of(full))
})
