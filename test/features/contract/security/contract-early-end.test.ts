/** A client whose first bytes are already too many to be checked: its upload must not end where they begin. */
import { expect, test } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { sha256 } from '../../../helpers/wire.ts'

test('a chunked body whose first chunk is beyond contract.maxBody reaches the upstream whole, as one request', async () => {
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end('{"grade":"A"}')
  })
  const gateway = await bootGateway({
    upstream: upstream.url,
    contract: { file: contractFile(), request: 'enforce', maxBody: '1KiB' },
  })
  const body = `{"id":"a"${' '.repeat(5000)}}GET /leads/pipeline HTTP/1.1\r\nHost: a\r\n\r\n`
  const head =
    'POST /valuation/score HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nConnection: close\r\n'

  const text = await exchangeRaw(
    gateway.port,
    `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  )

  expect(parseStatus(text)).toBe(200)
  expect(upstream.requests.map((each) => each.sha256)).toEqual([sha256(Buffer.from(body))])
  expect(upstream.begun()).toBe(1)
})
