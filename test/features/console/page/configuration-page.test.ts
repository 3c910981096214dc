import { expect, test } from 'vitest'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'

const file = `listen: { host: 127.0.0.1, port: 0 }
admin: { port: 0, token: 'a-secret-of-an-operator-which-is-long' }
instance: { name: eu-1 }
defaults:
  timeouts: { headers: 7s }
upstreams:
  valuation: sandbox
  financing: sandbox
  analysis: sandbox
  risk: { endpoints: [sandbox], timeouts: { connect: 1s }, request: { set: { Accept: <b>x</b> } } }
  inventory: sandbox
  leads: sandbox
  compliance: sandbox
  market: sandbox
allowSandbox: true
`

const read = async (admin: string): Promise<readonly string[]> => {
  const headers = { Authorization: 'Bearer a-secret-of-an-operator-which-is-long', Accept: 'text/html' }
  const text = await (await fetch(`${admin}/configuration`, { headers })).text()
  return text
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/[ \t]+/g, ' ')
    .split('\n')
    .map((line) => line.trim())
}

test('every value has the line that states it, the level it comes from, or that it is built in', async () => {
  const live = await bootLiveGateway()
  live.edit(file)
  expect((await fetch(`${live.admin}/reload`, { method: 'POST' })).status).toBe(200)

  const lines = await read(live.admin)
  const risk = lines.slice(lines.indexOf('upstreams.risk'), lines.indexOf('upstreams.inventory'))

  expect(risk).toContainEqual(expect.stringMatching(/^timeouts\.connect 1s \S+gateway\.yaml:10 \(upstream\)$/))
  expect(risk).toContainEqual(expect.stringMatching(/^timeouts\.headers 7s \S+gateway\.yaml:5 \(defaults\)$/))
  expect(risk).toContain('timeouts.body 30s built-in')
  expect(lines.join('\n')).not.toContain('a-secret-of')
  expect(lines).toContainEqual(expect.stringMatching(/^token \*\*\* \S+gateway\.yaml:2$/))
  expect(lines.join('\n')).toContain('&#60;b&#62;x&#60;/b&#62;')
})

test('of a policy of an operation each value has its own place', async () => {
  const live = await bootLiveGateway()
  live.edit(`${file}idempotency: { ttl: 1h }
auth: { methods: [introspection], introspection: { url: 'https://a/', clientId: a, clientSecret: a-secret-of-a } }
operations:
  valuation.score: { idempotency: { required: true }, auth: { scopes: [score] } }
  market.insights: { cache: { maxEntry: 2MiB } }
`)
  expect((await fetch(`${live.admin}/reload`, { method: 'POST' })).status).toBe(200)

  const lines = await read(live.admin)
  const from = (part: string, next: string) => lines.slice(lines.indexOf(part), lines.indexOf(next))
  const score = from('operations.valuation.score', 'operations.financing.pre-approval')
  const insights = from('operations.market.insights', 'reload')

  expect(score).toContainEqual(expect.stringMatching(/^idempotency\.required true \S+gateway\.yaml:19 \(operation\)$/))
  expect(score).toContainEqual(expect.stringMatching(/^idempotency\.ttl 1h \S+gateway\.yaml:16$/))
  expect(score).toContain('idempotency.maxKey 255 built-in')
  expect(score).toContainEqual(expect.stringMatching(/^auth\.methods introspection \S+gateway\.yaml:17$/))
  expect(score).toContainEqual(expect.stringMatching(/^auth\.scopes score \S+gateway\.yaml:19 \(operation\)$/))
  expect(score).toContain('auth.claims none built-in')
  expect(insights).toContainEqual(expect.stringMatching(/^cache\.maxEntry 2MiB \S+gateway\.yaml:20 \(operation\)$/))
  expect(insights).toContain('cache.shared false built-in')
})
