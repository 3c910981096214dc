/** What clients do wrong or too much of, and what an operator reads of it. */
import { expect, test } from 'vitest'
import type { FindingView } from '../../../../src/core/admin/findings/finding.ts'
import { withoutLateness } from '../../../helpers/findings.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'
import { lacks, shows, symptom } from './symptom.ts'

test('a token that has expired is named, and of whom', async () => {
  const key = signingKey('ES256', 'elliptic')
  const live = await bootLiveGateway({
    auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: jwks(key) } },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: ['market.insights'] }],
  })
  const sendRequest = async (token: string): Promise<number> =>
    (await fetch(`${live.url}/market/insights`, { headers: { authorization: `Bearer ${token}` } })).status
  expect(await sendRequest(signToken(key))).toBe(200)
  await lacks(live.admin, symptom(4))

  const now = Math.floor(Date.now() / 1000)
  const expired = signToken(key, claims({ exp: now - 60 }))
  expect([await sendRequest(expired), await sendRequest(expired), await sendRequest(expired)]).toEqual([401, 401, 401])

  const { cause } = await shows(live.admin, symptom(4))
  expect(cause).toMatch(/: 3 requests .*, from 127\.0\.0\.1$/)
  expect(cause).not.toContain(expired.slice(0, 20))
})

test('a limit that is full is named by its key, with how full it is', async () => {
  const release = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void release.promise.then(() => response.end()))
  const live = await bootLiveGateway({
    upstreams: { market: upstream.url },
    operations: { 'market.insights': { concurrency: 1 } },
  })
  await lacks(live.admin, symptom(5))

  const running = fetch(`${live.url}/market/insights`)
  await eventually(() => upstream.requests.length === 1)
  expect((await fetch(`${live.url}/market/insights`)).status).toBe(503)

  expect((await shows(live.admin, symptom(5))).cause).toMatch(/: 1 request was refused .*, 1 of 1 in flight now$/)
  release.resolve()
  expect((await running).status).toBe(200)
})

test('bodies that are too large are named, and the limit', async () => {
  const live = await bootLiveGateway({ operations: { 'inventory.sync': { maxBody: '1KiB' } } })
  const send = async (size: number): Promise<number> =>
    (await fetch(`${live.url}/inventory/sync`, { method: 'POST', body: 'x'.repeat(size) })).status
  expect(await send(1024)).toBe(200)
  await lacks(live.admin, symptom(11))

  expect([await send(1025), await send(2000), await send(2000)]).toEqual([413, 413, 413])

  expect((await shows(live.admin, symptom(11))).command).toContain(' tail --refused --since 15m --config ')
})

test('a single mistake of a client is no finding', async () => {
  const live = await bootLiveGateway()

  await fetch(`${live.url}/nowhere`)
  await live.line(({ failure }) => failure === 'not-found')

  const { findings } = (await (await fetch(`${live.admin}/status`)).json()) as {
    readonly findings: readonly FindingView[]
  }
  expect(withoutLateness(findings)).toEqual([])
})

test('connections that are closed at once are named by the setting that has it so', async () => {
  const live = await bootLiveGateway({ listen: { maxConnections: 1 } })
  const port = Number(new URL(live.url).port)
  const rejectedConnections = {
    heading: '',
    severity: 'warning',
    about: 'listen.maxConnections',
    cause: /listen\.maxConnections was reached: 1 connection was closed at once in the last minute; it is 1 now/,
    command: null,
  }
  const first = await rawClient(port)
  await lacks(live.admin, rejectedConnections)

  const second = await rawClient(port)
  await second.ended()

  await shows(live.admin, rejectedConnections)
  first.close()
})
