import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../helpers/live-gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'

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
