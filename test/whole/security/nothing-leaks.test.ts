import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { folderWith } from '../../core/config/helper.ts'
import { unzip } from '../../features/bundle/unzip.ts'
import { freePort } from '../../helpers/free-port.ts'
import { configText } from '../../helpers/gateway.ts'
import { rawClient } from '../../helpers/raw-client.ts'
import { crashOnSignal, secretEncodings } from '../../helpers/secret-leaks.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'
import { inDrills } from '../../helpers/speed.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../helpers/tokens.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

// The attack: a reader of the log, an error, a page of the operator or an archive for a helper looks for a credential.
// So there is one in every place that can hold any, and none may be found again, in whatever spelling: of a worker that
// crashes neither, in the drills: two more processes.
const places = [
  ...['field', 'cookie', 'bearer', 'key', 'wrongKey', 'query', 'path', 'body', 'response', 'set', 'candidate', 'file'],
  ...['environment', 'admin', 'wrongAdmin', 'redis', 'redisPassword', 'sentinelPassword', 'url', 'broken', 'crash'],
  ...['token', 'auditKey', 'clientSecret', 'spanToken', 'spanKey', 'next', 'claim', 'kid', 'alg', 'typ', 'issuer'],
  ...['audience', 'scope', 'jwt', 'proof'],
] as const
const base64 = (text: string): string => Buffer.from(text).toString('base64url')
const planted = {
  ...(Object.fromEntries(places.map((place) => [place, `planted-as-${place}-`.padEnd(43, 'k')])) as Record<
    (typeof places)[number],
    string
  >),
  jwt: `${base64('{"alg":"ES256"}')}.planted-in-a-jwt.planted`,
  proof: `${base64('{"typ":"dpop+jwt"}')}.planted-in-a-proof.planted`,
}

/** Reads the stream that keeps the page up to date until its first event is whole: it has every section. */
const readFirstTick = async (url: string): Promise<string> => {
  const leave = new AbortController()
  const { body } = await fetch(url, { headers: { Authorization: `Bearer ${planted.admin}` }, signal: leave.signal })
  let text = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (/^event: tick\ndata: .*\n\n/m.test(text)) break
  }
  leave.abort()
  return text
}

const [issued, foreign] = [signingKey('ES256', 'one'), signingKey('ES256', 'one')]
const said = (other: object = {}) => claims({ sub: planted.claim, scope: planted.scope, note: planted.claim, ...other })
const tokens = {
  good: signToken(issued, said()),
  'by another key': signToken(foreign, said()),
  expired: signToken(issued, said({ exp: 1 })),
  'of another issuer': signToken(issued, said({ iss: planted.issuer })),
  'for somebody else': signToken(issued, said({ aud: planted.audience })),
  'of nobody here': signToken(issued, said({ client_id: planted.claim })),
  'of an unknown key': signToken(issued, said(), { kid: planted.kid }),
  'of another kind': signToken(issued, said(), { typ: planted.typ }),
  'of an unknown algorithm': signToken(issued, said(), { alg: planted.alg }),
  'that says no JSON': signToken(issued, planted.claim),
}

/** What a token says, in whatever part of it, and its signature. */
const partsOfTokens = Object.entries(tokens).flatMap(([what, token]) =>
  token.split('.').map((part, nth) => [`part ${nth} of the token ${what}`, part] as const),
)

test('no credential that is in anything comes out of anything', async () => {
  const upstream = await httpUpstream(({ url }, response) => {
    if (url.includes('cut')) return void response.socket?.destroy()
    if (url.includes('broken')) return void response.socket?.end(`HTTP/1.1 200 OK\r\nX: ${planted.response}\0\r\n\r\n`)
    response.end()
  })
  const folder = folderWith({
    ...{ secret: planted.file, 'crash.mjs': crashOnSignal(planted.crash), 'audit-key': planted.auditKey },
    'span-token': `Bearer ${planted.spanToken}`,
  })
  const [adminPort, nobody] = [await freePort(), await freePort()]
  const file = join(folder, 'gateway.yaml')
  const settings = {
    upstreams: { compliance: `http://127.0.0.1:${nobody}` },
    upstream: {
      endpoints: [upstream.url],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: placeholders of the file look like these
      request: { set: { 'X-Team': planted.set, 'X-File': 'file:secret', 'X-Environment': '${PLANTED}' } },
      candidate: { endpoints: [upstream.url], request: { set: { 'X-Set-Token': planted.candidate } } },
    },
    workers: inDrills ? 2 : 1,
    shutdown: { wait: '0ms' },
    log: { level: 'trace' },
    admin: { port: adminPort, token: planted.admin },
    cache: {
      redis: {
        ...{ sentinels: [`127.0.0.1:${nobody}`], name: 'mymaster' },
        ...{ password: planted.redisPassword, sentinelPassword: planted.sentinelPassword },
      },
    },
    limits: { address: { rate: '1000/s' }, redis: { url: `redis://user:${planted.redis}@127.0.0.1:${nobody}` } },
    auth: {
      methods: ['apiKey', 'jwt', 'introspection'],
      identityField: 'X-Client-Id',
      jwt: { issuer, audience: [audience], jwks: jwks(issued) },
      introspection: { url: `${upstream.url}/broken`, clientId: 'gateway', clientSecret: planted.clientSecret },
    },
    audit: { file: join(folder, 'audit.log'), key: 'file:audit-key', digests: 'both' },
    operations: {
      'leads.pipeline': { auth: 'none' },
      'market.insights': { cache: true },
      'analysis.esg-grant': { auth: { methods: ['jwt'], scopes: ['leads.read'] } },
    },
    tracing: {
      otlp: `http://127.0.0.1:${nobody}/v1/traces`,
      headers: { Authorization: 'file:span-token', 'X-Honeycomb-Team': planted.spanKey },
      sample: '100%',
    },
    clients: [
      {
        ...{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } },
        apiKeys: [{ id: 'a', sha256: hash('sha256', planted.key) }],
      },
    ],
  }
  writeFileSync(file, configText(settings))
  const gateway = serve(file, { PLANTED: planted.environment, NODE_OPTIONS: `--import=${folder}/crash.mjs` })
  const port = await waitForListening(gateway)
  const texts: string[] = []

  const headers = {
    Authorization: `Bearer ${planted.bearer}`,
    Cookie: `session=${planted.cookie}`,
    'X-Custom': planted.field,
    'X-Api-Key': `a.${planted.key}`,
  }
  const ask = async (path: string, init: RequestInit = {}): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}?${planted.query}&q`, { headers, ...init }).catch(
      () => null,
    )
    if (response === null) return 0
    texts.push(JSON.stringify([...response.headers]), await response.text())
    return response.status
  }
  const raw = async (text: string): Promise<void> => {
    const client = await rawClient(port)
    client.send(text)
    texts.push((await client.ended()).received)
  }
  const operator = async (path: string, token: string, method = 'GET'): Promise<number> => {
    const init = { method, headers: { Authorization: `Bearer ${token}` } }
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, init)
    texts.push(await response.text())
    return response.status
  }

  const body = { method: 'POST', body: planted.body }
  const askWith = (bearer: string, path: string) => ask(path, { headers: { Authorization: `Bearer ${bearer}` } })
  expect([
    await ask('/market/insights'),
    await ask('/inventory/sync', body),
    await ask('/leads/pipeline', { headers: {} }),
    await ask('/compliance/audit-trail'),
    await ask(`/${planted.path}`),
    await ask('/market/insights', { ...body, headers: { ...headers, 'X-Api-Key': planted.wrongKey } }),
    await ask('/market/insights', { headers: { 'X-Api-Key': `a.${planted.wrongKey}` } }),
  ]).toEqual([200, 200, 200, 502, 404, 405, 401])
  for (const scheme of ['Bearer', 'DPoP'])
    for (const token of [planted.token, planted.jwt])
      await ask('/market/insights', { headers: { Authorization: `${scheme} ${token}`, DPoP: planted.proof } })
  for (const [what, token] of Object.entries(tokens)) {
    const status = { good: 200, 'of nobody here': 403 }[what] ?? 401
    expect([what, await askWith(token, '/market/insights')]).toEqual([what, status])
  }
  expect(await askWith(tokens.good, '/market/insights')).toBe(200) // as one that is known
  expect(await askWith(tokens.good, '/analysis/esg-grant')).toBe(403)
  for (const how of ['cut', 'broken']) await ask(`/market/insights?${how}`)
  const chunked = `Connection: close\r\nX-Api-Key: a.${planted.key}\r\nTransfer-Encoding: chunked\r\n\r\n${planted.body}`
  await raw(`GET /market/insights?${planted.query} HTTP/1.1\r\nHost: x\r\nX-Custom : ${planted.field}\r\n\r\n`)
  await raw(`POST /risk/asset-valuation HTTP/1.1\r\nHost: x\r\n${chunked}`)
  await raw(`${planted.field} ${planted.query}\r\n\r\n`)
  expect([
    await operator('/config', planted.admin),
    await operator('/status', planted.wrongAdmin),
    await operator(`/${planted.path}?${planted.query}`, planted.admin),
  ]).toEqual([200, 401, 404])
  writeFileSync(file, configText({ ...settings, upstream: `http://user:${planted.url}@host/?${planted.query}` }))
  expect(await operator('/reload', planted.admin, 'POST')).toBe(422)
  writeFileSync(file, `${configText(settings)}\nadmin: ${planted.broken}: x`)
  expect(await operator('/reload', planted.admin, 'POST')).toBe(422)
  for (const page of ['/', '/configuration', '/overview', '/rejected', '/status', '/metrics'])
    expect(await operator(page, planted.admin)).toBe(200)
  texts.push(await readFirstTick(`http://127.0.0.1:${adminPort}/events`))
  const command = async (...args: readonly string[]): Promise<void> => {
    const { out, err, code } = await runCommand(args, { PLANTED: planted.environment })
    expect([args[0], err, code]).toEqual([args[0], expect.any(String), expect.toBeOneOf([0, 1])])
    texts.push(out, err)
  }
  const archive = async (name: string): Promise<Readonly<Record<string, string>>> => {
    await command('bundle', '--config', file, '--output', join(folder, name))
    const parts = unzip(join(folder, name))
    texts.push(...Object.values(parts))
    return parts
  }
  await command('check', file)
  // Explained is what the file says; broken, it explains nothing.
  await archive('broken.zip')
  writeFileSync(file, configText(settings))
  const upstreamOf = { ...settings.upstream, request: { set: { 'X-Set-Token': planted.next } } }
  writeFileSync(`${file}.other`, configText({ ...settings, upstream: upstreamOf }))
  await command('diff', `${file}.other`, '--config', file)
  await command('top', '--once', '--config', file)
  await command('explain', 'GET', '/market/insights', '--live', '--config', file)
  const archived = await archive('a.zip')
  if (inDrills) {
    const { pid } = await gateway.line(({ msg, worker }) => msg === 'worker started' && worker === 1)
    process.kill(Number(pid), 'SIGPIPE')
    await gateway.line(({ msg, worker }) => msg === 'uncaught error' && worker === 1)
    await gateway.line(({ msg, worker }) => msg === 'worker ended' && worker === 1)
  }
  gateway.signal('SIGPIPE')
  expect(await gateway.ended).toEqual({ code: 1, signal: null })

  const audit = readFileSync(join(folder, 'audit.log'), 'utf8')
  const all = [...texts, JSON.stringify(gateway.lines), gateway.errors(), audit].join('\n')
  const parts = ['status.json', 'config.json', 'overview.json', 'rejected.json', 'metrics.txt']
  expect(Object.keys(archived)).toEqual(expect.arrayContaining(parts))
  expect(archived['rejected.json']).toContain('"kind": "unauthenticated"')
  expect(archived['config.json']).toContain('"X-File": "***"')
  expect(archived['explain.txt']).toContain('POST /risk/asset-valuation: forwarded')
  // That it was all there; of `X-Set-Token`, what differs is named, and not shown.
  for (const sign of [
    ...['uncaught error', '"failure":"identity-unavailable"', '"request":"POST /reload"', 'X-Set-Token', 'event: tick'],
    ...['"clientId":"bank-a"', '"client":"bank-a","method":"jwt"', 'lender_gateway_requests_total'],
  ])
    expect(all).toContain(sign)
  const lower = all.toLowerCase()
  for (const [place, secret] of [...Object.entries(planted), ...partsOfTokens])
    expect([place, secretEncodings(secret).filter((each) => lower.includes(each.toLowerCase()))]).toEqual([place, []])
}, 300_000) // a process, or three, and seven commands, one after another
