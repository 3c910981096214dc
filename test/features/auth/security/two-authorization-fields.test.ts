import { expect, test } from 'vitest'
import { bootHttp2, frameClient, get, head, missing } from '../../../helpers/http2.ts'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { exchangeRaw } from '../../../helpers/raw-client.ts'
import { tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

// Which of two the upstream takes is not known here: one good credential would let the other one in.
test('of two Authorization fields none is taken', async () => {
  const { gateway, key, reached } = await bootJwtGateway()
  const good = `Authorization: Bearer ${signToken(key)}`

  for (const other of [good, 'authorization: Bearer x', 'Authorization: Basic YTpi', 'Authorization:']) {
    for (const [one, two] of [
      [good, other],
      [other, good],
    ])
      expect(
        await exchangeRaw(
          gateway.port,
          `GET /market/insights HTTP/1.1\r\nHost: a\r\n${one}\r\n${two}\r\nConnection: close\r\n\r\n`,
        ),
      ).toMatch(/^HTTP\/1\.1 400 /)
  }
  expect(reached).toEqual([])
})

test.skipIf(missing !== null)('nor over HTTP/2, where what Node calls the headers has the first alone', async () => {
  const key = signingKey('ES256', 'issuer')
  const upstream = await httpUpstream()
  const { port } = await bootHttp2({ ...tokenBindingSettings(key), upstream: upstream.url })
  const good = `Bearer ${signToken(key)}`
  const status = async (...shown: readonly string[]): Promise<number | undefined> => {
    const client = await frameClient(port)
    await client.send(head(1, [...get(), ...shown.flatMap((each) => ['authorization', each])]))
    const response = await client.frame(({ type, stream }) => type === 1 && stream === 1)
    return response?.payload[0]
  }
  const [ok, badRequest] = [0x88, 0x8c] // RFC 7541, appendix A

  expect(await status(good)).toBe(ok)
  for (const other of [good, 'Bearer x', 'Basic YTpi', ''])
    expect([await status(good, other), await status(other, good)]).toEqual([badRequest, badRequest])
  expect(upstream.requests).toHaveLength(1)
})
