import { describe, expect, onTestFinished, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../helpers/live-gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
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

describe('by slow uploads:', () => {
  // The attack: a client begins to upload and pauses, until the back end loses patience and cuts the connection. What
  // looks like an endpoint that resets is the client's doing: a handful of such uploads to a quiet group would have its
  // endpoints taken out, or its breaker opened.
  const upload = 'POST /risk/asset-valuation HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'

  test('uploads that pause until the back end cuts them take no endpoint out, and open no breaker', async () => {
    const impatient = () => rawUpstream((socket) => onRequest(socket, () => void socket.resetAndDestroy()))
    const endpoints = [(await impatient()).url, (await impatient()).url]
    const live = await bootLiveGateway({ upstreams: { risk: { endpoints, circuitBreaker: { minRequests: 5 } } } })

    for (let i = 0; i < 20; i++) {
      const client = await rawClient(Number(new URL(live.url).port))
      client.send(upload)
      expect(await client.until((text) => text.includes('\r\n\r\n'))).toContain(' 502 ')
      client.close()
    }

    const { risk } = (await fetchAdmin(`${live.admin}/status`)).body.upstreams as unknown as {
      risk: { breaker: { state: string }; endpoints: readonly { state: string; requests: number; failures: number }[] }
    }
    expect(risk.breaker.state).toBe('closed')
    expect(risk.endpoints.map(({ state, failures }) => [state, failures])).toEqual([
      ['up', 0],
      ['up', 0],
    ])
    expect(risk.endpoints.reduce((sum, { requests }) => sum + requests, 0)).toBe(20)
  })
})

describe('by probes:', () => {
  const many = 8
  const policy = { path: '/health', interval: '100ms', timeout: '1h' }

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
    const market = { endpoints: [upstream.url], healthCheck: policy }

    await bootLiveGateway({ upstreams: { market } })
    await expect.poll(upstream.accepted).toBeGreaterThanOrEqual(many)

    expect(most).toBeLessThanOrEqual(2) // the one that begins, and the one before it
  })

  test('an upstream that answers a probe with interim responses without end is cut, and down', async () => {
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
    const market = { endpoints: [upstream.url], healthCheck: { ...policy, unhealthyAfter: 1 } }

    const { line } = await bootLiveGateway({ upstreams: { market } })

    expect(await line(({ msg }) => msg === 'endpoint down')).toMatchObject({ reason: 'interim answers without end' })
  })
})
