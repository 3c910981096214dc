import { expect, test } from 'vitest'
import { bootLiveGateway } from '../helpers/live-gateway.ts'
import { parseStatus, type RawClient, rawClient } from '../helpers/raw-client.ts'

// The attack: a client that reaches the admin listener opens connections and leaves them open. They take the process's
// descriptors, and it is the clients on the public listener that are rejected.
const many = 400

/** Opens as many connections; `act` is done with each that is not rejected. */
const flood = async (
  port: number,
  act: (client: RawClient) => Promise<unknown>,
  length = many,
): Promise<readonly RawClient[]> => {
  const clients = await Promise.all(Array.from({ length }, () => rawClient(port)))
  await Promise.all(clients.map((client) => act(client).catch(() => {})))
  return clients
}

const open = (clients: readonly RawClient[]): number => clients.filter(({ socket }) => !socket.destroyed).length

test('connections on which nothing is sent are rejected beyond a limit', async () => {
  const { gateway } = await bootLiveGateway()

  const clients = await flood(gateway.adminAddress.port, async () => {})
  await expect.poll(() => open(clients)).toBeLessThan(many)

  expect(open(clients)).toBeGreaterThan(100)
  for (const { close } of clients) close()
})

test('connections that are kept alive for nothing make room for a probe', async () => {
  const { gateway } = await bootLiveGateway()
  const { port } = gateway.adminAddress
  const probe = 'GET /live HTTP/1.1\r\n\r\n'
  const clients = await flood(port, (client) => {
    client.send(probe)
    return client.until((text) => parseStatus(text) === 200)
  })

  const again = await rawClient(port)
  again.send(probe)
  const answered = await again.until((text) => parseStatus(text) === 200)

  expect(parseStatus(answered)).toBe(200)
  for (const { close } of [...clients, again]) close()
})

test.each([
  ['nothing is sent', async () => {}],
  ['a head breaks off', async (client: RawClient) => client.send('GET /live HT')],
  [
    'no body follows its head',
    async (client: RawClient) => {
      client.send('POST /reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n')
      await client.until((text) => parseStatus(text) === 401)
    },
  ],
])('connections on which %s make room for a probe', async (_, act) => {
  const { gateway } = await bootLiveGateway({ admin: { token: 'a-token-of-an-operator' } })
  const { port } = gateway.adminAddress
  const clients = await flood(port, act, 256) // as many as there may be: none of them has made room yet
  const probe = async () => {
    const client = await rawClient(port)
    client.send('GET /live HTTP/1.1\r\n\r\n')
    return parseStatus(await client.until((text) => parseStatus(text) === 200).finally(client.close))
  }

  const answered = await probe().catch(probe).catch(probe)

  expect(answered).toBe(200)
  for (const { close } of clients) close()
})
