import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootLiveGateway } from '../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus, type RawClient, rawClient } from '../helpers/raw-client.ts'

const token = 'a-token-of-an-operator'

// The attack: a client that reaches the admin listener opens connections and leaves them open. They take the
// descriptors of the process, so clients of the public listener are rejected.
describe('a flood of connections', () => {
  const probe = 'GET /live HTTP/1.1\r\n\r\n'
  const ask = (client: RawClient): Promise<string> => {
    client.send(probe)
    return client.until((text) => parseStatus(text) === 200)
  }
  const boot = async (): Promise<number> => (await bootLiveGateway({ admin: { token } })).gateway.adminAddress.port

  /** Opens `length` connections; `act` is done with each that is accepted. */
  const flood = async (port: number, length: number, act: (client: RawClient) => unknown) => {
    const clients = await Promise.all(Array.from({ length }, () => rawClient(port)))
    onTestFinished(() => {
      for (const { close } of clients) close()
    })
    await Promise.all(clients.map(async (client) => act(client)).map((each) => each.catch(() => {})))
    return clients
  }

  test('idle connections to the admin listener are rejected beyond a limit', async () => {
    const clients = await flood(await boot(), 280, () => {})
    const open = (): number => clients.filter(({ socket }) => !socket.destroyed).length

    await expect.poll(open).toBeLessThan(280)
    expect(open()).toBeGreaterThan(100)
  })

  const head = 'POST /reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n'

  // As many as there may be: none of them has made room yet.
  test.each<[string, (client: RawClient) => unknown]>([
    ['that are kept alive for nothing', ask],
    ['on which nothing is sent', () => {}],
    ['on which a head breaks off', (client) => client.send('GET /live HT')],
    [
      'on which no body follows its head',
      (client) => {
        client.send(head)
        return client.until((text) => parseStatus(text) === 401)
      },
    ],
  ])('%s makes room for a probe', async (_, act) => {
    const port = await boot()
    await flood(port, 256, act)
    const respond = async (): Promise<string> => {
      const client = await rawClient(port)
      return ask(client).finally(client.close)
    }

    expect(parseStatus(await respond().catch(respond).catch(respond))).toBe(200)
  })
})

// The attack: a command leaves no trace of its operator, who does not wait for the response; or leaves too much,
// because the token is in the target.
describe('a command is logged', () => {
  const post = (target: string): string =>
    `POST ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 0\r\n\r\n`

  test('a command is logged when its client has gone before the response', async () => {
    const live = await bootLiveGateway({ admin: { token } })
    const client = await rawClient(live.gateway.adminAddress.port)

    client.send(post('/reload'))
    await expect.poll(() => client.socket.bytesWritten).toBeGreaterThan(0)
    client.close()
    await live.line(({ msg }) => msg === 'configuration unchanged')

    expect(await live.line(({ msg }) => msg === 'admin request')).toMatchObject({ method: 'POST', url: '/reload' })
  })

  test('a command is logged when its target cannot be decoded, which does not bypass the token, and without its query', async () => {
    const live = await bootLiveGateway({ admin: { token } })
    const send = (bytes: string) => exchangeRaw(live.gateway.adminAddress.port, bytes)

    expect(await send(post(`/reload%zz?token=${token}`))).toMatch(/^HTTP\/1\.1 400 [\s\S]*application\/problem\+json/)
    expect(await send('GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n')).toMatch(/^HTTP\/1\.1 401 /)

    expect(await live.line(({ status }) => status === 400)).toMatchObject({ msg: 'admin request', url: '/reload%zz' })
    expect(JSON.stringify(live.lines)).not.toContain(token)
  })

  test('a failed command is logged, without its query', async () => {
    const live = await bootLiveGateway()
    const broken = vi.spyOn(process, 'uptime').mockImplementation(() => {
      throw new Error('planted')
    })
    onTestFinished(() => broken.mockRestore())

    const request = `GET /status?token=${token} HTTP/1.1\r\nHost: localhost\r\n\r\n`
    const response = await exchangeRaw(live.gateway.adminAddress.port, request)

    expect(response).toMatch(/^HTTP\/1\.1 500 Internal Server Error/)
    expect(await live.line(({ msg }) => msg === 'admin request failed')).toMatchObject({ url: '/status' })
  })
})
