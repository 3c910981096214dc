import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../helpers/free-port.ts'
import { configText } from '../../helpers/gateway.ts'
import { crashOnSignal, secretEncodings } from '../../helpers/secret-leaks.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../helpers/tokens.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

// The attack: a reader of the log looks for a token that is good, or for its claims; or for what a worker had in its
// hands when it crashed. The audit log goes to standard output here, among the other lines.
const planted = {
  claim: 'planted-in-a-claim',
  kid: 'planted-in-a-kid',
  alg: 'planted-in-an-alg',
  typ: 'planted-in-a-typ',
  issuer: 'planted-as-an-issuer',
  audience: 'planted-as-an-audience',
  scope: 'planted-in-a-scope',
  crash: 'planted-in-an-error-of-a-worker',
  auditKey: `planted-in-the-audit-key-${'k'.repeat(32)}`,
}

const [key, foreign] = [signingKey('ES256', 'one'), signingKey('ES256', 'one')]
const said = (other: object = {}) => claims({ sub: planted.claim, scope: planted.scope, note: planted.claim, ...other })
const good = signToken(key, said())
const bad = {
  'by another key': signToken(foreign, said()),
  expired: signToken(key, said({ exp: 1 })),
  'of another issuer': signToken(key, said({ iss: planted.issuer })),
  'for somebody else': signToken(key, said({ aud: planted.audience })),
  'of nobody here': signToken(key, said({ client_id: planted.claim })),
  'of an unknown key': signToken(key, said(), { kid: planted.kid }),
  'of another kind': signToken(key, said(), { typ: planted.typ }),
  'of an unknown algorithm': signToken(key, said(), { alg: planted.alg }),
  'that says no JSON': signToken(key, planted.claim),
}

test('nothing of a token that is good or rejected comes out of a worker, of one that crashes, or of the audit log', async () => {
  const issuing = await httpUpstream((_, response) => void response.end(jwks(key)))
  const upstream = await httpUpstream()
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [file, adminPort] = [join(folder, 'gateway.yaml'), await freePort()]
  writeFileSync(join(folder, 'crash.mjs'), crashOnSignal(planted.crash))
  writeFileSync(join(folder, 'audit-key'), planted.auditKey)
  writeFileSync(
    file,
    configText({
      upstream: upstream.url,
      workers: 2,
      log: { level: 'trace' },
      admin: { port: adminPort },
      auth: {
        methods: ['jwt'],
        identityField: 'X-Client-Id',
        jwt: { issuer, audience: [audience], jwks: `${issuing.url}/jwks` },
      },
      operations: { 'leads.pipeline': { auth: { methods: ['jwt'], scopes: ['leads.read'] } } },
      clients: [{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }],
      audit: { file: 'stdout', key: 'file:audit-key', digests: 'both' },
    }),
  )
  const gateway = serve(file, { NODE_OPTIONS: `--import=${folder}/crash.mjs` })
  const port = await waitForListening(gateway)
  const texts: string[] = []
  const ask = async (bearer: string, path = '/market/insights'): Promise<number> => {
    const headers = { authorization: `Bearer ${bearer}` }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    texts.push(JSON.stringify([...response.headers]), await response.text())
    return response.status
  }
  const operator = async (path: string) => {
    const text = await (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text()
    texts.push(text)
    return JSON.parse(text)
  }

  expect(await ask(good)).toBe(200)
  expect(await ask(good)).toBe(200) // as one that is known
  expect(await ask(good, '/leads/pipeline')).toBe(403)
  for (const [what, bearer] of Object.entries(bad))
    expect([what, await ask(bearer)]).toEqual([what, what === 'of nobody here' ? 403 : 401])
  await operator('/config')
  const { workers } = await operator('/status')
  process.kill(workers[0].pid, 'SIGPIPE')
  await gateway.line(({ msg, worker }) => msg === 'uncaught error' && worker === 1)
  await gateway.line(({ msg, worker }) => msg === 'worker ended' && worker === 1)
  expect(await ask(good)).toBe(200)
  gateway.signal('SIGTERM')
  expect(await gateway.ended).toEqual({ code: 0, signal: null })

  const all = [...texts, JSON.stringify(gateway.lines), gateway.errors()].join('\n')
  expect(all).toContain('"event":"exchange"')
  expect(all).toContain('"client":"bank-a","method":"jwt"')
  expect(all).toContain('"cause":')
  const secrets = Object.entries(planted)
  // What a token says, in whatever part of it, and its signature, as they are and decoded.
  for (const [what, bearer] of Object.entries({ good, ...bad })) {
    const [header = '', payload = '', signature = ''] = bearer.split('.')
    secrets.push([`header ${what}`, header], [`payload ${what}`, payload], [`signature ${what}`, signature])
  }
  for (const [place, secret] of secrets)
    expect([place, secretEncodings(secret).filter((each) => all.toLowerCase().includes(each.toLowerCase()))]).toEqual([
      place,
      [],
    ])
})
