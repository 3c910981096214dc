import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootLiveGateway } from '../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus, type RawClient, rawClient } from '../helpers/raw-client.ts'

describe('a flood', () => {
  // The attack: a client that reaches the admin listener opens connections and leaves them open. They take the
  // process's descriptors, and it is the clients on the public listener that are rejected.
  const many = 280

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
})

describe('a trace of an operator', () => {
  // The attack: a command that changes something leaves no trace of the operator who gave it, because he does not stay
  // for the response; or leaves too much, because he wrote his token into the target.
  const token = 'a-token-of-an-operator'
  const post = (target: string, body = ''): string =>
    `POST ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`

  describe('a command is logged', () => {
    test('when its client has gone before the response', async () => {
      const live = await bootLiveGateway({ admin: { token } })
      const client = await rawClient(live.gateway.adminAddress.port)

      client.send(post('/reload'))
      await expect.poll(() => client.socket.bytesWritten).toBeGreaterThan(0)
      client.close()
      await live.line(({ msg }) => msg === 'configuration unchanged')

      expect(await live.line(({ msg }) => msg === 'admin request')).toMatchObject({ method: 'POST', url: '/reload' })
    })

    test('when its target cannot be decoded', async () => {
      const live = await bootLiveGateway({ admin: { token } })

      const response = await exchangeRaw(live.gateway.adminAddress.port, post('/reload%zz'))

      expect(response).toMatch(/^HTTP\/1\.1 400 [\s\S]*application\/problem\+json/)
      expect(await live.line(({ msg }) => msg === 'admin request')).toMatchObject({ url: '/reload%zz', status: 400 })
    })

    test('without its query, in which an operator may have written a token', async () => {
      const live = await bootLiveGateway({ admin: { token } })

      await exchangeRaw(live.gateway.adminAddress.port, post(`/reload?token=${token}`))
      await live.line(({ msg }) => msg === 'admin request')

      expect(JSON.stringify(live.lines)).not.toContain(token)
    })
  })

  test('a request that fails is logged without its query as well', async () => {
    const live = await bootLiveGateway()
    const broken = vi.spyOn(process, 'uptime').mockImplementation(() => {
      throw new Error('planted')
    })
    onTestFinished(() => broken.mockRestore())

    const response = await exchangeRaw(
      live.gateway.adminAddress.port,
      `GET /status?token=${token} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    )

    expect(response).toMatch(/^HTTP\/1\.1 500 Internal Server Error/)
    expect(await live.line(({ msg }) => msg === 'admin request failed')).toMatchObject({ url: '/status' })
  })

  test('a target that cannot be decoded is no way past the token', async () => {
    const live = await bootLiveGateway({ admin: { token } })

    const response = await exchangeRaw(live.gateway.adminAddress.port, 'GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n')

    expect(response).toMatch(/^HTTP\/1\.1 401 /)
  })
})
