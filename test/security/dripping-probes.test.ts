import { expect, test } from 'vitest'
import { bootLiveGateway } from '../helpers/live-gateway.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'

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
