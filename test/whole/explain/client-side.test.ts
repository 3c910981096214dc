import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { configFileWith, runCommand } from '../../core/cli/scripted-admin.ts'
import { configText } from '../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'

// In market, 203.0.113.5 is in bucket 7199.
const client = '203.0.113.5'

const bootWithCandidate = () =>
  bootLiveGateway({
    upstreams: { market: { endpoints: ['sandbox'], candidate: { endpoints: ['sandbox'], share: '30%' } } },
  })

const explainFor = (id: string, target: string, ...args: readonly string[]) =>
  runCommand(['explain', 'GET', target, '--client', id, ...args])

const explainSide = async (file: string, ...args: readonly string[]): Promise<string | undefined> => {
  const { out } = await explainFor(client, '/market/insights', '--config', file, ...args)
  return /^side +(.*)$/m.exec(out)?.[1]
}

test('explain --client says which side a client is on by the file, with the line that decides', async () => {
  const { file } = await bootWithCandidate()

  expect(await explainSide(file)).toMatch(
    /^primary, for 203\.0\.113\.5: it is in bucket 7199, and the candidate has the first 3000 of 10000: upstreams\.market\.candidate\.share \(.*:\d+\) is 30%$/,
  )
})

test.each(['HEAD', 'GET'])('a name that the file does not have is wrong usage, for %s', async (method) => {
  const { code, out, err } = await runCommand(['explain', method, '/market/insights', '--client', 'nobody'])

  expect({ code, out, err }).toEqual({
    code: 2,
    out: '',
    err: 'lender-gateway: --client: nobody is neither an address nor the name of one under clients\n',
  })
})

test('explain --live says which side the client is on after commands of operators', async () => {
  const { file, admin } = await bootWithCandidate()
  const order = (body: object) =>
    fetchAdmin(`${admin}/shift`, 'POST', { body: JSON.stringify({ group: 'market', ...body }) })

  await order({ to: '80%' })
  const shifted = await explainSide(file, '--live', '--admin', admin)
  await order({ abort: true })
  const aborted = await explainSide(file, '--live', '--admin', admin)

  expect(shifted).toMatch(
    /^candidate, for 203\.0\.113\.5: it is in bucket 7199, and the candidate has the first 8000 of 10000: just now it gets 80% of the clients by /,
  )
  expect(aborted).toMatch(/^primary, for 203\.0\.113\.5: just now the candidate gets nothing: aborted by /)
  expect(await explainSide(file)).toMatch(/ is 30%$/)
})

const entryOf = (id: string, more: object = {}) => ({
  ...{ id, operations: 'all', apiKeys: [{ id, sha256: hash('sha256', id, 'hex') }] },
  ...more,
})
const auth = { methods: ['apiKey'] }

test.each([
  ['bank-a', '/market/insights', 'forwarded', 0],
  ['bank-b', '/market/insights', 'rejected with 403 forbidden', 1],
  ['bank-b', '/leads/pipeline', 'forwarded', 0],
  ['bank-c', '/leads/pipeline', 'rejected with 403 forbidden', 1],
])('explain --client %s on %s: %s, as the gateway does it', async (id, target, result, code) => {
  const others = [entryOf('bank-b', { operations: ['leads.pipeline'] }), entryOf('bank-c', { disabled: true })]
  const file = configFileWith(configText({ auth, clients: [entryOf('bank-a'), ...others] }))

  expect(await explainFor(id, target, '--config', file)).toMatchObject({
    code,
    out: expect.stringContaining(`GET ${target}: ${result}`),
  })
})

test.each([
  [
    'bank-d',
    '/leads/pipeline',
    'bank-d is neither an address nor the name of one under clients; probably meant: bank-a',
  ],
  ['203.0.113.5', '/leads/pipeline', 'leads.pipeline has auth, so the name of a client decides its side'],
  ['bank-a', '/market/insights', 'market.insights has no auth, so the address of a client decides its side'],
])('explain --client %s on %s is wrong usage: no request has such a client', async (id, target, reason) => {
  const operations = { 'market.insights': { auth: 'none' } }
  const file = configFileWith(configText({ auth, clients: [entryOf('bank-a')], operations }))

  expect(await explainFor(id, target, '--config', file)).toMatchObject({
    ...{ code: 2, out: '', err: expect.stringContaining(`lender-gateway: --client: ${reason}`) },
  })
})
