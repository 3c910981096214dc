import { expect, onTestFinished, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { call, eventually } from '../helpers/wire.ts'

// The attack: a breaker that is half-open lets a few requests through and waits for how they end. Clients that begin to
// upload then, and send a byte now and again, would be those few for as long as they like, and the group would be shut
// to every other client.
const upload = 'POST /risk/asset-valuation HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'

test('a client that never ends its upload does not keep a circuit breaker half-open', async () => {
  let status = 500
  const upstream = await httpUpstream((_, response) => response.writeHead(status).end())
  const circuitBreaker = { minRequests: 1, openFor: '100ms', probes: 1 }
  const { port } = await bootGateway({ upstream: upstream.url, defaults: { circuitBreaker } })
  const ask = () => call(port, { target: '/risk/asset-valuation', method: 'POST', body: Buffer.from('a') })
  await ask()
  status = 200
  const begun = upstream.begun()
  const arrived = () => upstream.begun() > begun
  while (!arrived()) await hold(port, arrived)

  let answer = await ask()
  while (answer.status === 503) answer = await ask()

  expect(answer.status).toBe(200)
})

/** Begins to upload, and waits until that has arrived or was rejected. */
const hold = async (port: number, arrived: () => boolean): Promise<void> => {
  const client = await rawClient(port)
  onTestFinished(() => client.close())
  client.send(upload)
  await eventually(() => arrived() || client.received().includes(' 503 '))
}
