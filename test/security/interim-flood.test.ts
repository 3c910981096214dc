import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'
import { dial, renderHead } from '../helpers/wire.ts'

// The attack: interim responses without end, to a client that does not read. They are written as they come and put no
// back pressure on the upstream, so all of them waited in the gateway's memory: a gigabyte in five seconds.
const MiB = 1024 * 1024
const each = Buffer.from(`HTTP/1.1 103 Early Hints\r\nLink: <${'x'.repeat(16_000)}>\r\n\r\n`)
const total = 64 * MiB
// More than the system buffers for a connection whose client does not read.
const most = 16 * MiB

test('a client that does not read is not kept more interim responses than it may have unread', async () => {
  const written = Promise.withResolvers<void>()
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      for (let sent = 0; sent < total; sent += each.length) socket.write(each)
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast', () => written.resolve())
    }),
  )
  const { port } = await bootGateway({ upstream: upstream.url, listen: { interim: 'relay' } })
  const client = await dial(port)

  client.pause()
  client.write(renderHead({}))
  await written.promise // the gateway has taken nearly all of it
  let received = 0
  let end = ''
  for await (const chunk of client) {
    received += (chunk as Buffer).length
    end = (end + (chunk as Buffer).toString('latin1')).slice(-1000)
  }

  expect(received).toBeLessThan(most)
  expect(end).toMatch(/HTTP\/1\.1 200 OK\r\n.*\r\n\r\nlast$/s)
})

test.each([100, 104])('%i responses without end fail, though the client takes interim responses', async (status) => {
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      for (let sent = 0; sent <= 100; sent++) socket.write(`HTTP/1.1 ${status} Again\r\n\r\n`)
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast')
    }),
  )
  const { port } = await bootGateway({
    upstream: upstream.url,
    listen: { interim: 'relay' },
    defaults: { retry: 'none' },
  })

  const response = await fetch(`http://127.0.0.1:${port}/market/insights`)

  expect([response.status, await response.json()]).toMatchObject([502, { code: 'bad-answer' }])
})
