import { describe, expect, test } from 'vitest'
import { statusShape } from '../../../../src/core/admin/api/status.ts'
import { decodeResponse } from '../../../../src/core/cli/client/admin-client.ts'
import { CliError } from '../../../../src/core/cli/client/admin-target.ts'
import {
  adminTarget,
  configFileWith,
  jsonResponse,
  runCommand,
  scriptedAdmin,
  token,
} from '../../../core/cli/scripted-admin.ts'
import {
  configProblem,
  endpointStatusWith,
  healthyStatus,
  runStatus,
  upstreamStatusWith,
} from '../../../core/cli/status-fixtures.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const [since, lastSuccess] = ['2026-11-21T02:04:57.000Z', '2026-11-21T02:00:07.000Z']

const troubled = {
  ...{ ...healthyStatus, state: 'draining', ready: false, uptimeSeconds: 59, retiring: 1 },
  config: {
    ...{ ...healthyStatus.config, loadedBy: 'start', fileDiffers: true, previous: '9b02c7d11e55' },
    lastRejection: { at: '2026-11-21T02:04:11.000Z', problems: [configProblem] },
  },
  upstreams: {
    market: upstreamStatusWith(
      endpointStatusWith('http://market-a:8080', { inFlight: 2 }),
      endpointStatusWith('http://market-b:8080', { weight: 10, inFlight: 1 }),
      endpointStatusWith('http://market-c:8080', { weight: 0, state: 'draining' }),
    ),
  },
  limits: {
    concurrency: [
      { key: 'limits.concurrency', inFlight: 12, limit: 10_000 },
      { key: 'upstreams.market.concurrency', inFlight: 60, limit: 60 },
    ],
    eventLoop: { delayMs: 312.5, limitMs: 200, sheds: true, since, where: 'in 1 of 2 workers' },
  },
  tokens: {
    jwt: { source: 'url', keys: 2, error: 'it responded with 503', since, lastSuccess, where: null },
    introspection: { error: null, since: lastSuccess, lastSuccess: null, where: null },
    operators: null,
    proofs: { remembered: 500_000, room: 1_000_000 },
  },
  operations: {
    'inventory.sync': { state: 'reject', until: '2026-11-21T02:15:00.000Z' },
    'leads.pipeline': { state: 'reject', until: null },
    'valuation.score': { state: 'serve', until: '2026-11-21T03:05:01.500Z' },
  },
  log: { level: 'info', dropped: 12 },
}

const audit = {
  ...{ file: '/var/log/audit.log', chain: '47fe3007d10bf399', count: 1204, hash: '5'.repeat(64), state: 'written' },
  ...{ reason: null, since, waitingBytes: 0, lost: 0 },
  disk: { freeBytes: 4_080_218_931, sizeBytes: 21_474_836_480, fullInSeconds: null, low: false },
}

describe('status shows', () => {
  test('a healthy gateway', async () => {
    const limits = { ...healthyStatus.limits, concurrency: [{ key: 'limits.concurrency', inFlight: 2, limit: 10_000 }] }

    expect(await runStatus({ ...healthyStatus, limits })).toEqual({
      code: 0,
      err: '',
      out: `asked http://gateway (--admin), which runs /etc/lender-gateway/gateway.yaml as process 1

nothing is wrong

gateway  serving, ready
version  0.2.0, Node v24.21.0, process 1
up       1d 2h, started 2026-11-20T00:01:55Z
config   3f1c0a9be2d4, loaded 2026-11-21T02:00:07Z, 4m 52s ago, by an edit of the file
before   none
file     /etc/lender-gateway/gateway.yaml: same as the running configuration
log      no lines dropped

group      endpoint                   weight  in flight  state
valuation  sandbox (embedded)         100     0          up
risk       http://risk.internal:8080  100     2          up

limit               now
limits.concurrency  2 of 10000 in flight
`,
    })
  })

  test('an unhealthy one, and last why the file was rejected, as check prints it', async () => {
    expect(await runStatus(troubled)).toEqual({
      code: 0,
      err: '',
      out: `asked http://gateway (--admin), which runs /etc/lender-gateway/gateway.yaml as process 1

nothing is wrong

gateway   draining, NOT READY
version   0.2.0, Node v24.21.0, process 1
up        59s, started 2026-11-21T02:04:01Z
config    3f1c0a9be2d4, loaded 2026-11-21T02:00:07Z, 4m 52s ago, at the start
before    9b02c7d11e55; return to it with: lender-gateway rollback
file      /etc/lender-gateway/gateway.yaml: DIFFERS from the running configuration: rejected, see below
log       12 LINES DROPPED since the start: the reader of the log is too slow
retiring  1 earlier: their requests are still under way

group   endpoint              weight  in flight  state
market  http://market-a:8080  100     2          up
        http://market-b:8080  10      1          up
        http://market-c:8080  0       0          weight 0: nothing new

limit                         now
limits.concurrency            12 of 10000 in flight
upstreams.market.concurrency  60 of 60 in flight: FULL, new requests are rejected
limits.eventLoopDelay         312.5 of 200 ms late: SHEDS LOAD in 1 of 2 workers since 2026-11-21T02:04:57Z, 3s ago

tokens         now
jwt            2 keys, fetched 2026-11-21T02:00:07Z, 4m 53s ago; FAILS since 2026-11-21T02:04:57Z, 3s ago: it responded with 503
introspection  responds
proofs         500000 remembered, ROOM for 1000000

operation        state
inventory.sync   REJECTED by an operator until 2026-11-21T02:15:00Z, 10m left
leads.pipeline   REJECTED by the file
valuation.score  served by an operator until 2026-11-21T03:05:01Z, 1h left

rejected 2026-11-21T02:04:11Z, 49s ago; the running configuration stays in effect
/etc/lender-gateway/gateway.yaml:12:9 upstreams.market: not a URL
    expected a URL such as http://risk.internal:8080, or sandbox
    found    "market-b:8080"
    hint     put http:// or https:// in front
`,
    })
  })

  test('a worker without keys is shown, also while its first fetch is under way', async () => {
    const { jwt } = troubled.tokens
    const without = { ...jwt, keys: 0, lastSuccess: null, where: 'in 1 of 2 workers' }
    const show = async (shown: object) => {
      const tokens = { jwt: shown, introspection: null, operators: null, proofs: null }
      return /^jwt .*$/m.exec((await runStatus({ ...troubled, tokens })).out)?.[0]
    }

    expect(await show({ ...without, error: null })).toBe('jwt     NO KEYS in 1 of 2 workers, never fetched')
    expect(await show(without)).toMatch(/^jwt {5}NO KEYS, never fetched; FAILS in 1 of 2 workers since /)
  })

  const chain = 'the chain in /var/log/audit.log has 1204 lines'
  const lost = '3 LINES LOST since the start'

  test.each([
    ['is written', {}, `${chain}, and its disk 3.8 GiB free`],
    ['has lost some', { lost: 3 }, `${chain}, ${lost}, and its disk 3.8 GiB free`],
    ['is of a disk that does not tell', { disk: null }, chain],
    ['cannot be written', { reason: 'ENOSPC' }, 'NOT WRITTEN since 2026-11-21T02:04:57Z, 3s ago: ENOSPC'],
  ])('an audit log that %s, with the lines of its chain', async (_, how, row) => {
    const { out } = await runStatus({ ...healthyStatus, audit: { ...audit, ...how } })

    expect(out).toContain(`\naudit    ${row}\n`)
  })

  test.each([
    ['rollback', 'DIFFERS from the running configuration: rolled back; apply it again with: lender-gateway reload'],
    ['file', 'DIFFERS from the running configuration: not read yet; read it now with: lender-gateway reload'],
  ])('why the file differs after: %s', async (loadedBy, why) => {
    const config = { ...healthyStatus.config, fileDiffers: true, loadedBy }
    const { out } = await runStatus({ ...healthyStatus, config })

    expect(out).toContain(`gateway.yaml: ${why}\n`)
  })

  test('the first of many problems, and how to see the others', async () => {
    const lastRejection = { at: 'then', problems: Array.from({ length: 12 }, () => configProblem) }

    const { out } = await runStatus({ ...healthyStatus, config: { ...healthyStatus.config, lastRejection } })

    expect(out.split('not a URL').length - 1).toBe(10)
    expect(out).toMatch(/\nand 2 more: see lender-gateway check\n$/)
  })

  test('nothing that controls the terminal', async () => {
    const operations = { '\u0007': { state: '\r', until: null } }
    const { out } = await runStatus({ ...healthyStatus, version: '\u001b[2J\u009b1m\n', operations })

    expect(out).toContain('version  \\x1b[2J\\x9b1m\\x0a, Node')
    expect(out).toContain('\\x07       \\x0d by the file')
  })

  test('JSON for programs, as the gateway sends it', async () => {
    const body = { ...troubled, news: ['of a later version'] }

    const out = `${JSON.stringify(body, null, 2)}\n`
    expect(await runStatus(body, '--format', 'json')).toEqual({ code: 0, err: '', out })
  })
})

const risk = { ...upstreamStatusWith(), endpoints: [7] }

test.each([
  ['nothing', null, 'a map is expected'],
  ['a member that is missing', { ...healthyStatus, config: {} }, 'text is expected at config.file'],
  ['text for a number', { ...healthyStatus, retiring: '0' }, 'a number is expected at retiring'],
  ['a list for a map', { ...healthyStatus, upstreams: [] }, 'a map is expected at upstreams'],
  [
    'an endpoint that is none',
    { ...healthyStatus, upstreams: { risk } },
    'a map is expected at upstreams.risk.endpoints[0]',
  ],
  ['a flag that is text', { ...healthyStatus, ready: 'yes' }, 'true or false is expected at ready'],
])('a status that is not a gateway’s is not shown, and the error has its place: %s', (_what, body, message) => {
  expect(() => decodeResponse(adminTarget(9901), body, statusShape)).toThrow(
    new CliError(
      `http://127.0.0.1:9901 responds in a form that this version does not know: ${message}; compare the versions`,
    ),
  )
})

test.each([
  ['text of another program', 'text/plain', 'OK', 'responds with something other than a report (200): is that'],
  ['a page', 'text/html', '<p>', 'responds with something other than a report (200): is that the admin listener of a'],
  ['JSON that is no status', 'application/json', '{}', 'does not know: text is expected; compare the versions'],
])('a response that is not a gateway’s exits with 2 and one line on stderr: %s', async (_what, type, text, message) => {
  const admin = await scriptedAdmin((response) => {
    response.writeHead(200, { 'Content-Type': type })
    response.end(text)
  })

  const { code, out, err } = await runCommand(['status', '--admin', admin.url])

  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toMatch(/^lender-gateway: .*\n$/)
  expect(err).toContain(message)
})

test('what acts on a terminal is escaped, whoever says it', async () => {
  const admin = await scriptedAdmin((response) => {
    response.writeHead(200, { 'Content-Type': 'text/plain' })
    response.end('runs a\u001b[2J\nb\r\u202e\n')
  })

  const { out } = await runCommand(['status', '--admin', admin.url])

  expect(out).toBe(`asked ${admin.url} (--admin), which runs a\\x1b[2J\nb\\x0d\\u202e\n`)
})

describe('status --ready', () => {
  const says = (text: string) => expect.stringContaining(text)
  const ask = (url: string, ...args: readonly string[]) => runCommand(['status', '--ready', '--admin', url, ...args])

  test.each([
    ['a gateway that is', { ready: true }, 200, { code: 0, out: 'ready\n', err: '' }],
    ['one that stops', { ready: false, reason: 'draining' }, 503, { code: 1, out: 'not ready: draining\n', err: '' }],
    ['one that does not say why', { ready: false }, 503, { code: 1, out: 'not ready\n', err: '' }],
    ['one that draws on the terminal', { ready: false, reason: '\u001b[2J' }, 503, { code: 1, out: 'not ready\n' }],
    ['one that says both', { ready: false }, 200, { code: 1, err: says('does not say whether it is ready (200)') }],
    ['another program', { status: 'UP' }, 200, { code: 1, err: says('does not say') }],
    ['the public listener', { code: 'not-found' }, 404, { code: 1, err: says('and not the public one?\n') }],
  ])('%s', async (_what, body, status, expected) => {
    const admin = await scriptedAdmin(jsonResponse(body, status))

    expect(await ask(admin.url)).toMatchObject(expected)
    expect(admin.received).toMatchObject([{ request: 'GET /ready' }])
  })

  test('sends no token, and needs only the address of the file', async () => {
    const admin = await scriptedAdmin(jsonResponse({ ready: true }))
    const file = configFileWith(`admin: { port: ${admin.port}, token: ${token} }\nupstreams: [`)

    const environment = { LENDER_GATEWAY_ADMIN_TOKEN: token }
    expect(await runCommand(['status', '--ready', '--config', file], environment)).toMatchObject({ code: 0 })
    expect(admin.received[0]?.headers).not.toHaveProperty('authorization')
  })

  test('a gateway that cannot be reached is not ready: 1, not 2', async () => {
    const { code, out, err } = await ask(`http://127.0.0.1:${await freePort()}`, '--format', 'json')

    expect({ code, out: JSON.parse(out) }).toEqual({ code: 1, out: { ready: false, reason: null } })
    expect(err).toMatch(/^lender-gateway: nothing listens at .*\n$/)
  })
})

test('a real gateway shows its state, before and while it stops', async () => {
  const [received, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { url } = await httpUpstream((_, response) => {
    received.resolve()
    released.promise.then(() => response.end())
  })
  const operations = { 'inventory.sync': { state: 'reject' } }
  const { gateway, file, ...live } = await bootLiveGateway({ admin: { token }, upstreams: { market: url }, operations })
  const at = ['--admin', live.admin]
  const environment = { LENDER_GATEWAY_ADMIN_TOKEN: token }

  const before = await runCommand(['status', ...at], environment)
  const withoutToken = await runCommand(['status', ...at])
  const ready = await runCommand(['status', '--ready', ...at])
  const running = fetch(`${live.url}/market/insights`)
  await received.promise
  const closed = gateway.close()
  const stopping = await runCommand(['status', ...at], environment)
  const late = await runCommand(['status', '--ready', ...at])
  released.resolve()
  await Promise.all([closed, running.then((response) => response.text())])

  expect(before).toMatchObject({ code: 0, err: '' })
  expect(before.out).toMatch(
    /^notice {4}operations\.inventory\.sync: the file rejects every request \(state: reject\)\n/m,
  )
  for (const line of [
    'gateway  serving, ready',
    `${file}: same as the running configuration`,
    'inventory.sync  REJECTED by the file',
  ])
    expect(before.out).toContain(`${line}\n`)
  expect(withoutToken).toMatchObject({ code: 2, out: '', err: expect.stringContaining('wants a token') })
  expect(ready).toMatchObject({ code: 0, out: 'ready\n' })
  expect(stopping.out).toMatch(/\n\ngateway {2}draining, NOT READY: draining\n/)
  expect(stopping.out).toMatch(/^warning {3}process: the gateway is stopping/m)
  expect(late).toMatchObject({ code: 1, out: 'not ready: draining\n' })
})

test.each([
  ['status a', 'too many arguments'],
  ['status --format xml', 'Allowed choices are text, json'],
  ['status --redy', 'Did you mean --ready?'],
  ['status --format jsno', 'Did you mean json?'],
  ['operation rejct market.insights', 'Did you mean reject?'],
  ['operation refuse market.insights', 'Did you mean reject?'],
  ['tail --refused', 'It is now named --rejected.'],
  ['operation reject market.insihgts', 'Did you mean market.insights?'],
  ['shift maket', 'Did you mean market?'],
  ['statsu', 'Did you mean status?'],
  ['shift reprot risk', 'Did you mean report?'],
  ['shift risk report', 'Did you mean report?'],
  ['shift risk abort', 'Did you mean --abort?'],
  ['status redy', 'Did you mean --ready?'],
  ['endpoint risk drian', 'Did you mean drain?'],
  ['shift report rikc risk', 'Did you mean risk?'],
  ['status --admin gateway:9901', '--admin: a URL of scheme, host and port is expected'],
])('wrong usage exits with 2, and the program says so on stderr: %s', async (command, message) => {
  const { code, out, err } = await runCommand(command.split(' '))

  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(/^lender-gateway: /)
  expect(err).toContain(message)
})
