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
  live.edit(`${file}idempotency: { ttl: 1h }
auth: { methods: [introspection], introspection: { url: 'https://a/', clientId: a, clientSecret: a-secret-of-a } }
operations:
  valuation.score: { idempotency: { required: true }, auth: { scopes: [score] } }
  market.insights: { cache: { maxEntry: 2MiB } }
`)
  expect((await fetch(`${live.admin}/reload`, { method: 'POST' })).status).toBe(200)

  const lines = (await read(live.admin)).map((line) => line.replace(/\S+gateway\.yaml/, 'FILE'))
  const from = (part: string, next: string) => lines.slice(lines.indexOf(part), lines.indexOf(next))
  const all = lines.join('\n')

  expect(from('upstreams.risk', 'upstreams.inventory')).toEqual(
    expect.arrayContaining([
      'timeouts.connect 1s FILE:10 (upstream)',
      'timeouts.headers 7s FILE:5 (defaults)',
      'timeouts.body 30s built-in',
    ]),
  )
  // Each value of a policy has its own place.
  expect(from('operations.valuation.score', 'operations.financing.pre-approval')).toEqual(
    expect.arrayContaining([
      'idempotency.required true FILE:19 (operation)',
      'idempotency.ttl 1h FILE:16',
      'idempotency.maxKey 255 built-in',
      'auth.methods introspection FILE:17',
      'auth.scopes score FILE:19 (operation)',
      'auth.claims none built-in',
    ]),
  )
  expect(from('operations.market.insights', 'reload')).toEqual(
    expect.arrayContaining(['cache.maxEntry 2MiB FILE:20 (operation)', 'cache.shared false built-in']),
  )
  expect(lines).toContain('token *** FILE:2')
  expect(all).not.toContain('a-secret-of')
  expect(all).toContain('&#60;b&#62;x&#60;/b&#62;')
})
