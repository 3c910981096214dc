import { expect, test } from 'vitest'
import { bootLive } from '../helpers/live-gateway.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'

const many = 8

test('an upstream whose answers to probes never end does not gather connections', async () => {
  let most = 0
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      most = Math.max(most, upstream.connections())
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const drip = setInterval(() => socket.write('x'), 10)
      socket.on('close', () => clearInterval(drip))
    }),
  )
  const healthCheck = { path: '/health', interval: '100ms', timeout: '1h' }
  const market = { endpoints: [upstream.url], healthCheck }

  await bootLive({ upstreams: { market } })
  await expect.poll(upstream.accepted, { timeout: 5000 }).toBeGreaterThanOrEqual(many)

  expect(most).toBeLessThanOrEqual(2) // the one that begins, and the one before it
})
