import { expect, onTestFinished, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../helpers/live-gateway.ts'
import { type RawClient, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
import { call, eventually } from '../helpers/wire.ts'

/** Begins an upload to the group `risk`, and stops. */
const beginUpload = async (port: number): Promise<RawClient> => {
  const client = await rawClient(port)
  onTestFinished(() => client.close())
  client.send('POST /risk/asset-valuation HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n')
  return client
}

// The attack: a half-open breaker lets a few requests through and waits for their outcome. Uploads that send a byte now
// and again would be those requests for ever, and the group would be shut to all other clients.
test('a client that never ends its upload does not keep a circuit breaker half-open', async () => {
  let status = 500
  const upstream = await httpUpstream((_, response) => response.writeHead(status).end())
  const circuitBreaker = { minRequests: 1, openFor: '100ms', probes: 1 }
  const { port } = await bootGateway({ upstream: upstream.url, defaults: { circuitBreaker } })
  const ask = async () =>
    (await call(port, { target: '/risk/asset-valuation', method: 'POST', body: Buffer.from('a') })).status
  await ask()
  status = 200
  const begun = upstream.begun()
  const arrived = () => upstream.begun() > begun
  while (!arrived()) {
    const client = await beginUpload(port)
    await eventually(() => arrived() || client.received().includes(' 503 '))
  }

  let result = await ask()
  while (result === 503) result = await ask()

  expect(result).toBe(200)
})

// The attack: a client begins an upload and pauses until the back end cuts the connection. This looks like a reset of
// the endpoint: a few such uploads to a quiet group would eject its endpoints, or open its breaker.
test('uploads that pause until the back end cuts them eject no endpoint, and open no breaker', async () => {
  const impatient = () => rawUpstream((socket) => onRequest(socket, () => void socket.resetAndDestroy()))
  const endpoints = [(await impatient()).url, (await impatient()).url]
  const live = await bootLiveGateway({ upstreams: { risk: { endpoints, circuitBreaker: { minRequests: 5 } } } })

  for (let i = 0; i < 20; i++) {
    const client = await beginUpload(live.gateway.address.port)
    expect(await client.until((text) => text.includes('\r\n\r\n'))).toContain(' 502 ')
  }

  const { risk } = (await fetchAdmin(`${live.admin}/status`)).body.upstreams as unknown as {
    risk: { endpoints: readonly { requests: number }[] }
  }
  expect(risk).toMatchObject({
    breaker: { state: 'closed' },
    endpoints: new Array(2).fill({ state: 'up', failures: 0 }),
  })
  expect(risk.endpoints.reduce((sum, { requests }) => sum + requests, 0)).toBe(20)
})

// The attack: an upstream whose responses to probes never end gathers connections, or is read for ever.
const probedBy = (upstream: { readonly url: string }, more: object = {}) => {
  const healthCheck = { path: '/health', interval: '100ms', timeout: '1h', ...more }
  return bootLiveGateway({ upstreams: { market: { endpoints: [upstream.url], healthCheck } } })
}

test('an upstream whose responses to probes never end does not gather connections', async () => {
  let most = 0
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      most = Math.max(most, upstream.connections())
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const drip = setInterval(() => socket.write('x'), 10)
      socket.on('close', () => clearInterval(drip))
    }),
  )

  await probedBy(upstream)
  await expect.poll(upstream.accepted).toBeGreaterThanOrEqual(8)

  expect(most).toBeLessThanOrEqual(2) // the one that begins, and the one before it
})

test('an upstream that sends a probe endless interim responses is cut, and down', async () => {
  const interim = Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000))
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      const fill = (): void => {
        while (socket.writable && socket.write(interim));
      }
      socket.on('drain', fill)
      fill()
    }),
  )

  const { line } = await probedBy(upstream, { unhealthyAfter: 1 })

  expect(await line(({ msg }) => msg === 'endpoint down')).toMatchObject({ reason: 'interim responses without end' })
})
