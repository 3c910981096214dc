import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failureTable } from '../../../src/core/exchange/failures/failure-table.ts'
import { simulateRequest } from '../../../src/features/explain/rejection.ts'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { folderWith } from '../../core/config/helper.ts'
import { bootGateway, testConfig } from '../../helpers/gateway.ts'
import { parseStatus, rawClient } from '../../helpers/raw-client.ts'
import { explain, methods, settings } from './explaining.ts'

const at = '/lender/market/insights'
const targets = [
  ...[at, `${at}?a=b&c=%2F%00`, `${at}?`, `${at} `, '/market/insights', `${at}/`, '/lender//market/insights'],
  ...['/lender/%6Darket/insights', '/lender/Market/insights', '/lender/./market/insights', `${at};a=1`, `${at}#a`],
  ...['/lender/market insights', '/lender/m\u00e4rket/insights', `${at}\u0001`, '/lender/market\\insights'],
  ...[`${at}?${'a'.repeat(200)}`, `/lender/market insights${'a'.repeat(200)}`, `${at}?${'a'.repeat(4000)}`],
  ...[`${at}?${'a'.repeat(4000)}\u0001`, `http://api.example${at}?a`, `HTTPS://api.example:443${at}`],
  ...[`http://user@api.example${at}`, `http://${at}`, 'http://api.example', `ftp://api.example${at}`],
  ...['lender/market/insights', 'api.example:443', '*', '?', ''],
]

test('explain predicts what a gateway does, with any target by GET, and with any method', async () => {
  const { listen } = testConfig(settings)
  const { port } = await bootGateway(settings)
  const few = ['/lender/market/insights', '/lender/market/insights?a=b', '*', 'api.example:443', '']
  const others = methods.filter((method) => method !== 'GET')
  const requests = [
    ...targets.map((target) => ['GET', target] as const),
    ...others.flatMap((method) => few.map((target) => [method, target] as const)),
  ]

  const simulated = requests.map(([method, target]) => simulateRequest(method, target, listen))
  const done = await Promise.all(requests.map(([method, target]) => askGateway(port, method, target)))

  const predicted = simulated.map((arrival, i) => ({
    request: requests[i],
    status: arrival.admitted ? 200 : failureTable[arrival.kind].status,
    code: arrival.admitted || done[i]?.code === null ? null : arrival.kind,
    allow: arrival.admitted ? null : arrival.allow,
  }))
  expect(predicted).toEqual(done.map((each, i) => ({ request: requests[i], ...each })))
})

/** Sends a request line over a socket; `code` is null for a rejection without a body, and for a forwarded request. */
const askGateway = async (port: number, method: string, target: string) => {
  const client = await rawClient(port)
  client.send(Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n`))
  const { received } = await client.ended()
  const [, code = null] = /"code":"([a-z-]+)"/.exec(received) ?? []
  const [, allow = null] = /^Allow: (.*)\r$/m.exec(received) ?? []
  return { status: parseStatus(received), code, allow }
}

test('explain loads no server, no client and no logger', async () => {
  const folder = folderWith({
    'spy.mjs': `import { registerHooks } from 'node:module'
      registerHooks({ resolve: (name, context, next) => { if (/^(fastify|undici|pino|@fastify)/.test(name)) process.stderr.write(name); return next(name, context) } })`,
  })
  const node = ['--import', join(folder, 'spy.mjs')]

  const { code, err } = await runCommand(['explain', 'GET', '/market/insights'], {}, { node })

  expect({ code, err }).toEqual({ code: 0, err: '' })
})

test('explain without --config takes config/gateway.yaml', async () => {
  const { code, out, err } = await explain('GET', '/market/insights?region=eu')

  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toContain('GET /market/insights?region=eu: forwarded')
  expect(out).toMatch(/\nconfig\/gateway\.yaml \(hash [0-9a-f]{12}\)\n$/)
})

test.each([[['GET']], [['GET', '/a', '/b']], [['GET', '/a', '--format', 'xml']], [['GET', '/a', '--nope']]])(
  'wrong usage exits with 2 and one line on stderr: %s',
  async (args) => {
    const { code, out, err } = await explain(...args)

    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^lender-gateway: .+\n/)
  },
)
