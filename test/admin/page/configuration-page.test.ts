import { expect, test } from 'vitest'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'

const file = `listen: { host: 127.0.0.1, port: 0 }
admin: { port: 0, token: 'a-secret-of-an-operator-which-is-long' }
instance: { name: eu-1 }
defaults:
  timeouts: { headers: 7s }
upstreams:
  valuation: sandbox
  financing: sandbox
  analysis: sandbox
  risk: { endpoints: [sandbox], timeouts: { connect: 1s }, request: { set: { X-A: <b>x</b> } } }
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
