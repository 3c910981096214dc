import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { groups } from '../../../../src/operations.ts'
import { runCommand } from '../../../core/cli/scripted-admin.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { runInProcess } from '../../../golden/golden.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { stopClock } from '../../../helpers/odd-clocks.ts'
import { adminJwt, operatorKey } from '../../../helpers/operator-jwts.ts'
import { type RedisReply, scriptedRedis } from '../../../helpers/scripted-redis.ts'
import { audience, issuer, jwks } from '../../../helpers/tokens.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'

type Tree = { readonly [key: string]: unknown }

const fileWith = (upstreams: Tree, more: Tree = {}): string => {
  const all = { ...Object.fromEntries(groups.map((group) => [group, 'sandbox'])), ...upstreams }
  const text = Object.entries(all).map(([group, upstream]) => `  ${group}: ${JSON.stringify(upstream)}\n`)
  const rest = Object.entries(more).map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
  return join(folderWith({ 'gateway.yaml': `upstreams:\n${text.join('')}${rest.join('')}` }), 'gateway.yaml')
}

const lineOf = (group: string): number => groups.map(String).indexOf(group) + 2

const checkInTime = (file: string, ...args: readonly string[]) => runInProcess('check', file, '--online', ...args)

/** Checks with all the time that a busy machine needs. */
const check = (...args: Parameters<typeof checkInTime>) => {
  stopClock()
  return checkInTime(...args)
}

const unusedUrl = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`

const failing = () => httpUpstream((_, response) => void response.writeHead(503).end())

// The first connection to a Redis loads it, which takes a busy machine longer than there is time for a reply.
beforeAll(() => import('@redis/client'))

test('endpoints that can all be reached are good, and nothing is sent to them', async () => {
  const [one, other] = [await httpUpstream(), await httpUpstream()]
  const file = fileWith({ market: { endpoints: [one.url, `${other.url}/v2`] }, risk: one.url })

  const { code, out } = await check(file)

  expect(code).toBe(0)
  expect(out).toMatch(/gateway\.yaml: good \(hash [0-9a-f]{12}\), 3 of 3 endpoints reached\n$/)
  await expect.poll(() => [one.accepted(), other.accepted()]).toEqual([2, 1])
  expect(one.begun() + other.begun()).toBe(0)
})

test('of a file with problems nothing is tried, and stderr says so', async () => {
  const upstream = await httpUpstream()
  const file = fileWith({ market: upstream.url, risk: 'risk.internal:8080' })

  const online = await runCommand(['check', '--online', file])
  const offline = await runInProcess('check', file)
  const json = await check(file, '--format', 'json')

  expect(online).toMatchObject(offline)
  expect(online.out).toContain('upstreams.risk: not a URL')
  expect(online.err).toMatch(
    /^lender-gateway: no endpoint was tried, because the file has problems; .*-gateway status\n$/,
  )
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, endpoints: [] })
  expect(upstream.accepted()).toBe(0)
})

test('a file that cannot be read is exit code 2', async () => {
  expect(await check(join(folderWith({}), 'none.yaml'))).toMatchObject({ code: 2 })
})

test('without --online JSON has no endpoints, and none is tried', async () => {
  const { url, accepted } = await httpUpstream()

  const { code, out } = await runInProcess('check', fileWith({ market: url }), '--format', 'json')

  expect([code, accepted()]).toEqual([0, 0])
  expect(JSON.parse(out)).not.toHaveProperty('endpoints')
})

const rejects = 'the endpoint refuses connections (ECONNREFUSED)'
const notOne = 'upstreams.market.endpoints: no endpoint of market can be reached\n'

test('a group without a reachable endpoint is a problem', async () => {
  const [{ url }, gone] = [await httpUpstream(), await unusedUrl()]
  const file = fileWith({ market: { endpoints: [gone, 'http://nowhere.invalid'] }, risk: url })

  const { code, out } = await check(file)

  expect(code).toBe(1)
  expect(out.replace(/:\d+ upstreams/, ':· upstreams')).toBe(`${file}:${lineOf('market')}:· ${notOne}\
    expected at least one of them to be there
    found    ${gone}: ${rejects}; http://nowhere.invalid: the name of the endpoint does not resolve (ENOTFOUND)
1 problem
`)
})

/** Of a group with a good endpoint and one that is gone: what is reported. */
const warned = 'upstreams.market.endpoints: GONE/v2 cannot be reached: '

test.each<[string, (good: string, gone: string) => readonly unknown[], number, readonly string[]]>([
  ['one of several is a warning', (good, gone) => [good, `${gone}/v2`], 0, [`${warned}${rejects}`, ', 1 of 2 ']],
  ['a drained one is tried', (good, gone) => [good, { url: gone, drain: true }], 0, [', 1 of 2 endpoints reached']],
  ['one of no weight is tried', (good, gone) => [good, { url: gone, weight: 0 }], 0, [', 1 of 2 endpoints reached']],
  ['one of no weight does not help', (good, gone) => [gone, { url: good, weight: 0 }], 1, [notOne]],
  ['a drained one does not help', (good, gone) => [gone, { url: good, drain: true }], 1, [`GONE: ${rejects}\n1 p`]],
  ['the sandbox can be reached', (_, gone) => [gone, 'sandbox'], 0, [`GONE cannot be reached: ${rejects}`]],
  ['the sandbox is not tried', () => ['sandbox'], 0, [', no endpoint to try\n']],
])('of the endpoints of a group %s', async (_, endpointsOf, expected, texts) => {
  const [{ url }, gone] = [await httpUpstream(), await unusedUrl()]

  const { code, out } = await check(fileWith({ market: { endpoints: endpointsOf(url, gone) } }))

  expect(code).toBe(expected)
  for (const text of texts) expect(out).toContain(text.replace('GONE', gone))
})

test.each(['connect', 'none'])('preflight: %s is content with a connection', async (preflight) => {
  const { url, begun } = await failing()
  const file = fileWith({ market: { endpoints: [url], healthCheck: { path: '/health' } } }, { reload: { preflight } })

  const { code } = await check(file)

  expect({ code, begun: begun() }).toEqual({ code: 0, begun: 0 })
})

test('preflight: health sends the request of the health check, where there is one', async () => {
  const [probed, plain] = [await failing(), await failing()]
  const file = fileWith(
    { market: { endpoints: [probed.url], healthCheck: { path: '/health' } }, risk: plain.url },
    { reload: { preflight: 'health' } },
  )

  const { code, out } = await check(file)

  expect(code).toBe(1)
  expect(out).toContain(`found    ${probed.url}: responded with 503, 200-299 is expected\n`)
  expect(probed.requests.map(({ url }) => url)).toEqual(['/health'])
  expect(plain.begun()).toBe(0)
})

test('all are tried at once, each for two seconds at most', async () => {
  let most = 0
  const silent = await rawUpstream((socket) => {
    most = Math.max(most, silent.connections())
    socket.resume().on('end', () => socket.end())
  })
  const slow = `https${silent.url.slice(4)}` // no handshake comes back
  const endpoints = [1, 2, 3].map((nth) => `${slow}/${nth}`)
  const file = fileWith({ market: { endpoints }, risk: slow }, { defaults: { timeouts: { connect: 'none' } } })

  const { code, out } = await checkInTime(file)

  expect(code).toBe(1)
  expect(out.match(/no response within 2s/g)).toHaveLength(4)
  expect(most).toBeGreaterThanOrEqual(4)
})

test('JSON lists every endpoint that was tried', async () => {
  const [{ url }, gone] = [await httpUpstream(), await unusedUrl()]
  const file = fileWith({ market: { endpoints: [url, gone] }, risk: gone })

  const { code, out } = await check(file, '--format', 'json')

  const report = JSON.parse(out)
  const tried = { side: 'primary', reached: false, reason: rejects, certificate: null }
  expect(code).toBe(1)
  expect(report).toMatchObject({ ok: false, file, hash: expect.any(String) })
  expect(new Set(report.endpoints)).toEqual(
    new Set([
      { ...tried, group: 'market', url, reached: true, reason: null },
      { ...tried, group: 'market', url: gone },
      { ...tried, group: 'risk', url: gone },
    ]),
  )
  expect(report.problems).toMatchObject([
    { path: 'upstreams.risk.endpoints', line: lineOf('risk'), found: `${gone}: ${rejects}` },
  ])
  expect(report.warnings).toMatchObject([{ path: 'upstreams.market.endpoints', found: rejects }])
})

test('a candidate is tried as well, and one without a reachable endpoint is a problem of its own', async () => {
  const [{ url }, other, gone] = [await httpUpstream(), await httpUpstream(), await unusedUrl()]
  const beside = (...endpoints: string[]) => ({
    endpoints: [url],
    candidate: { endpoints, healthCheck: { path: '/' } },
  })
  const file = fileWith({ market: beside(gone), risk: beside(gone, other.url) })

  const { code, out } = await check(file, '--format', 'json')

  const { endpoints, problems, warnings } = JSON.parse(out)
  const reached = { group: 'risk', side: 'candidate', url: other.url, reached: true }
  const message = 'no endpoint of the candidate of market can be reached'
  expect(code).toBe(1)
  expect(endpoints).toContainEqual(expect.objectContaining(reached))
  expect(problems).toMatchObject([{ path: 'upstreams.market.candidate.endpoints', line: lineOf('market'), message }])
  expect(warnings).toMatchObject([{ path: 'upstreams.risk.candidate.endpoints' }])
})

test('an audit file that cannot be opened is a warning, and none is made', async () => {
  const folder = folderWith({ key: 'k'.repeat(32), taken: '' })
  const audited = (file: string) => check(fileWith({}, { audit: { file, key: `file:${folder}/key` } }))

  const [missing, noFile] = [await audited(`${folder}/none/audit.log`), await audited(folder)]
  const [good, old] = [await audited(`${folder}/audit.log`), await audited(`${folder}/taken`)]

  expect([missing.code, noFile.code]).toEqual([0, 0])
  expect(missing.out).toMatch(/^warning: .* audit\.file: .*\/audit\.log cannot be opened by the user of .*: ENOENT.*\n/)
  expect(noFile.out).toMatch(/^warning: .* audit\.file: .*: not a regular file\n/)
  expect([good.out, old.out]).not.toContainEqual(expect.stringContaining('warning'))
  expect(readdirSync(folder).sort()).toEqual(['key', 'taken'])
})

test('a Redis that cannot be used is a warning, without its password', async () => {
  const good = await scriptedRedis()
  const rejecting = await scriptedRedis(() => new Error('WRONGPASS hunter2 is wrong'))
  const at = ({ port }: { readonly port: number }): string => `127.0.0.1:${port}`
  const cluster = { cluster: [`redis://${at(rejecting)}`], password: 'hunter2' }

  const limits = { redis: { url: `redis://${at(good)}` } }
  const { code, out } = await check(fileWith({}, { limits, cache: { redis: cluster } }))

  expect(code).toBe(0)
  expect(out.split('\n').filter((line) => line.includes('cannot be used'))).toEqual([
    expect.stringMatching(/^warning: .* cache\.redis\.cluster: Redis \(cluster \S+\) cannot .*: WRONGPASS \*\*\*/),
  ])
  expect(out).toContain(`(cluster ${at(rejecting)})`)
  expect(good.commands.map(([name]) => name)).toEqual(['SCRIPT', 'EVALSHA'])
})

/** Renders a configuration whose idempotency remembers in this Redis. */
const idempotentBy = (redis: object): string => {
  const operations = { 'financing.pre-approval': { idempotency: true } }
  return fileWith({}, { operations, idempotency: { redis, encryptionKeys: [Buffer.alloc(32).toString('base64')] } })
}

const memoryInfo = (policy: string): string => `# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:${policy}\r\nx:1\r\n`

test.each<[string, RedisReply, number]>([
  ['evicts the least used', memoryInfo('allkeys-lru'), 1],
  ['rejects writes', memoryInfo('noeviction'), 0],
  ['does not report its policy', new Error('NOPERM no'), 0],
])('a Redis for idempotency that %s when its memory is full gets a warning or none', async (_, reply, warnings) => {
  const redis = await scriptedRedis(([command]) => (command === 'INFO' ? reply : undefined))

  const { out, code } = await check(idempotentBy({ url: `redis://127.0.0.1:${redis.port}` }))

  const warned = out.split('\n').filter((line) => line.includes('edis'))
  expect(warned).toHaveLength(warnings)
  for (const line of warned)
    expect(line).toMatch(/may evict keys when its memory is full \(maxmemory-policy allkeys-lru\)/)
  expect(code).toBe(0)
})

test('of a cluster for idempotency every node is asked', async () => {
  const [first, second] = [await scriptedRedis(), await scriptedRedis()]
  const slots = [
    [0, 8191, ['127.0.0.1', first.port]],
    [8192, 16_383, ['127.0.0.1', second.port]],
  ]
  const replying = (policy: string) => {
    const replies: Readonly<Record<string, RedisReply>> = { CLUSTER: slots, WAIT: 1, INFO: memoryInfo(policy) }
    return ([command = '']: readonly string[]) => replies[command]
  }
  first.reply = replying('noeviction')
  second.reply = replying('volatile-lru')

  const { out, code } = await check(idempotentBy({ cluster: [`redis://127.0.0.1:${first.port}`] }))

  expect(out).toContain('when its memory is full (maxmemory-policy volatile-lru)')
  expect(code).toBe(0)
})

test('issuers whose keys cannot be fetched are warnings, those of clients and those of operators', async () => {
  const reply = { status: 200, text: jwks(operatorKey) }
  const server = await httpUpstream((_, response) => void response.writeHead(reply.status).end(reply.text))
  const keys = `${server.url}/jwks`
  const auth = { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: keys } }
  const clients = [{ id: 'a', operations: 'all' }]
  const file = fileWith({}, { admin: { jwt: adminJwt({ jwks: keys }) }, auth, clients })

  const good = await check(file)
  reply.text = jwks()
  const { code, out } = await check(file)
  const json = await check(file, '--format', 'json')

  expect(good.out).not.toContain('cannot be fetched')
  expect(code).toBe(0)
  const why = 'cannot be fetched from here: it holds no key for PS256, ES256, EdDSA, Ed25519'
  expect(out.split('\n').filter((line) => line.includes('cannot be fetched'))).toEqual(
    ['auth.jwt', 'admin.jwt'].map((key) => expect.stringContaining(`${key}.jwks: the keys of ${key} ${why}`)),
  )
  expect(JSON.parse(json.out).warnings).toMatchObject([{ path: 'auth.jwt.jwks' }, { path: 'admin.jwt.jwks' }])
})
