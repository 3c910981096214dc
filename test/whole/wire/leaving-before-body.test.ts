/** Clients that leave while the gateway does something else than read their body: it asks who they are. */
import { expect, onTestFinished, test } from 'vitest'
import { FairQuota } from '../../../src/core/lib/fair-quota.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { rawClient } from '../../helpers/raw-client.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

/** Counts the bytes that are reserved for bodies, in all rooms. */
const countReserved = (): (() => number) => {
  let reserved = 0
  const { reserve, release } = FairQuota.prototype
  FairQuota.prototype.reserve = function (bytes) {
    const isDone = reserve.call(this, bytes)
    if (isDone) reserved += bytes
    return isDone
  }
  FairQuota.prototype.release = function (bytes) {
    reserved -= bytes
    release.call(this, bytes)
  }
  onTestFinished(() => void Object.assign(FairQuota.prototype, { reserve, release }))
  return () => reserved
}

/** Boots a gateway that waits for a server before it knows a client, until `respond` is called. */
const boot = async () => {
  const waiting: (() => void)[] = []
  const server = await httpUpstream(
    (_, response) => void waiting.push(() => response.end('{"active":true,"client_id":"bank-a"}')),
  )
  const upstream = await httpUpstream()
  const gateway = await bootGateway({
    upstream: upstream.url,
    listen: { timeouts: { body: '10m' } },
    auth: {
      methods: ['introspection'],
      introspection: { url: `${server.url}/introspect`, clientId: 'gateway', clientSecret: 'secret', timeout: '30s' },
    },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: 'all' }],
    operations: { 'valuation.score': { idempotency: true } },
  })
  const respond = (): void => {
    for (const each of waiting.splice(0)) each()
  }
  return { gateway, respond, asked: () => waiting.length }
}

const head = (token: string, framing: string): string =>
  `POST /valuation/score HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${token}\r\nIdempotency-Key: "${token}"\r\n${framing}\r\n\r\n`

test('what was held of the body of a client that has gone keeps no room', async () => {
  const reserved = countReserved()
  const { gateway, respond, asked } = await boot()
  const clients = await Promise.all(Array.from({ length: 5 }, () => rawClient(gateway.port)))
  for (const [n, client] of clients.entries())
    client.send(`${head(`gone-${n}`, 'Transfer-Encoding: chunked')}ea60\r\n${'x'.repeat(60_000)}\r\n`)
  await expect.poll(asked).toBe(5)

  for (const { socket } of clients) socket.resetAndDestroy()
  await expect.poll(() => gateway.lines.filter(({ status }) => status === 499).length).toBe(5)
  respond()
  const other = await rawClient(gateway.port)
  other.send(`${head('other', 'Content-Length: 2')}{}`)
  await expect.poll(asked).toBe(1)
  respond()

  expect(await other.until((text) => text.includes('\r\n\r\n'))).toMatch(/^HTTP\/1\.1 200 /)
  other.close()
  expect(reserved()).toBe(0)
})

test('a body that is cut short meanwhile is rejected as soon as the client is known', async () => {
  const { gateway, respond, asked } = await boot()
  const client = await rawClient(gateway.port)
  client.send(`${head('short', 'Content-Length: 100')}{`)
  await expect.poll(asked).toBe(1)

  client.socket.end()
  const other = await rawClient(gateway.port)
  other.send('GET / HTTP/1.1\r\nHost: g\r\n\r\n')
  await other.until((text) => text.includes('404'))
  respond()

  expect((await client.ended()).received).toMatch(/^HTTP\/1\.1 400 /)
  other.close()
})
