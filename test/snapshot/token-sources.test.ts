import { expect, test, vi } from 'vitest'
import type { JwtConfig } from '../../src/config/config.ts'
import { TokenSources } from '../../src/snapshot/token-sources.ts'
import { mergeTokens, type TokensReport } from '../../src/snapshot/tokens-report.ts'
import { audience, issuer, jwks, signingKey, token } from '../helpers/tokens.ts'
import { httpUpstream } from '../helpers/upstream.ts'

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
  const sources = new TokenSources(() => {})
  const shown = token(key)
  const before = sources.holdJwt(configOf(server.url))
  await before.claimsOf(shown)

  const after = sources.holdJwt(configOf(server.url))
  const edited = sources.holdJwt(configOf(server.url, { clockTolerance: 1000 }))
  before.release()

  expect(after.claimsOf(shown)).not.toBeInstanceOf(Promise)
  expect(edited.claimsOf(shown)).toBeInstanceOf(Promise) // an edit of what is asked of tokens forgets them, and no keys
  expect(server.requests).toHaveLength(1)
  after.release()
  edited.release()
  await vi.waitFor(() => expect(server.connections()).toBe(0))
})

test('an outage of the issuer is told, and where it is', async () => {
  const server = await httpUpstream((_, response) => void response.writeHead(302, { location: '/elsewhere' }).end())
  const told: unknown[] = []
  const sources = new TokenSources((...line) => told.push(line))
  const held = sources.holdJwt(configOf(`${server.url}/keys?secret`))

  await expect(held.claimsOf(token(key))).rejects.toThrow('it answered 302')

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

  expect(mergeTokens(report(well), [report(well), report(ill)])).toEqual(report({ ...ill, where: 'in 1 of 2 workers' }))
  expect(mergeTokens(report(ill), [report(well), report({ ...well, since: 3 })])).toEqual(report({ ...well, since: 3 }))
  expect(mergeTokens(report(well), [])).toEqual(report(well))
})

test('the memory of proofs of several workers is the one of the primary', () => {
  const of = (proofs: TokensReport['proofs']): TokensReport => ({ jwt: null, introspection: null, proofs })
  const full = { remembered: 3, room: 4 }

  expect(mergeTokens(of(full), [of(null), of(null)])).toEqual(of(full))
})
