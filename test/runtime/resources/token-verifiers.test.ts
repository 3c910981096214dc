import { expect, test, vi } from 'vitest'
import type { JwtConfig } from '../../../src/config/config.ts'
import { mergeTokensReports, type TokensReport } from '../../../src/runtime/report/tokens-report.ts'
import { TokenVerifiers } from '../../../src/runtime/resources/token-verifiers.ts'
import { audience, issuer, jwks, signingKey, signToken } from '../../helpers/tokens.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const key = signingKey('ES256', 'a')

const configOf = (url: string, other: Partial<JwtConfig> = {}): JwtConfig => ({
  issuer,
  audience: [audience],
  jwks: { url },
  algorithms: ['ES256'],
  types: ['at+jwt'],
  clockTolerance: 0,
  ...other,
})

test('keys and what was found out with them go on from snapshot to snapshot, as long as any needs them', async () => {
  const server = await httpUpstream((_, response) => void response.end(jwks(key)))
  const sources = new TokenVerifiers(() => {})
  const shown = signToken(key)
  const before = sources.acquireJwt(configOf(server.url))
  await before.getClaims(shown)

  const after = sources.acquireJwt(configOf(server.url))
  const edited = sources.acquireJwt(configOf(server.url, { clockTolerance: 1000 }))
  before.release()

  expect(after.getClaims(shown)).not.toBeInstanceOf(Promise)
  expect(edited.getClaims(shown)).toBeInstanceOf(Promise) // an edit of what is asked of tokens forgets them, and no keys
  expect(server.requests).toHaveLength(1)
  after.release()
  edited.release()
  await vi.waitFor(() => expect(server.connections()).toBe(0))
})

test('an outage of the issuer is told, and where it is', async () => {
  const server = await httpUpstream((_, response) => void response.writeHead(302, { location: '/elsewhere' }).end())
  const told: unknown[] = []
  const sources = new TokenVerifiers((...line) => told.push(line))
  const held = sources.acquireJwt(configOf(`${server.url}/keys?secret`))

  await expect(held.getClaims(signToken(key))).rejects.toThrow('it answered 302')

  expect(told).toEqual([
    ['warn', 'keys of the issuer cannot be fetched', { from: server.url, reason: 'it answered 302' }],
  ])
  expect(held.state()).toMatchObject({ keys: 0, error: 'it answered 302', lastSuccess: null })
  held.release()
})

test('of several workers the worst is reported, and in how many it is so', () => {
  const well = { source: 'url', keys: 2, error: null, since: 5, lastSuccess: 9, where: null } as const
  const ill = { ...well, error: 'gone', since: 7 }
  const report = (jwt: TokensReport['jwt']): TokensReport => ({ jwt, introspection: null, proofs: null })

  expect(mergeTokensReports(report(well), [report(well), report(ill)])).toEqual(
    report({ ...ill, where: 'in 1 of 2 workers' }),
  )
  expect(mergeTokensReports(report(ill), [report(well), report({ ...well, since: 3 })])).toEqual(
    report({ ...well, since: 3 }),
  )
  expect(mergeTokensReports(report(well), [])).toEqual(report(well))
})

test('the memory of proofs of several workers is the one of the primary', () => {
  const of = (proofs: TokensReport['proofs']): TokensReport => ({ jwt: null, introspection: null, proofs })
  const full = { remembered: 3, room: 4 }

  expect(mergeTokensReports(of(full), [of(null), of(null)])).toEqual(of(full))
})
