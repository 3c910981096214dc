import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootLiveGateway } from '../helpers/live-gateway.ts'
import { exchangeRaw, rawClient } from '../helpers/raw-client.ts'

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
