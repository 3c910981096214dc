import { expect, test } from 'vitest'
import { bootGateway } from '../../helpers/gateway.ts'
import { onRequest, rawUpstream } from '../../helpers/upstream.ts'
import { dial, renderHead } from '../../helpers/wire.ts'

// The attack: interim responses without end, to a client that does not read. They are written as they come and put no
// back pressure on the upstream, so all of them waited in the gateway's memory: a gigabyte in five seconds.
const MiB = 1024 * 1024
const each = Buffer.from(`HTTP/1.1 103 Early Hints\r\nLink: <${'x'.repeat(16_000)}>\r\n\r\n`)
const total = 16 * MiB
// A hundred of them, and the response.
const most = 2 * MiB

test('a client that does not read is not kept interim responses without end', async () => {
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
  await written.promise // the gateway has cut it
  let received = 0
  let end = ''
  for await (const chunk of client) {
    received += (chunk as Buffer).length
    end = (end + (chunk as Buffer).toString('latin1')).slice(-4000)
  }

  expect(received).toBeLessThan(most)
  expect(end).toMatch(/HTTP\/1\.1 502 .*"code": ?"bad-answer"/s)
})

test.each([
  [103, 101, 'bad-answer'],
  [103, 100, 'last'],
])('where the client takes interim responses, %i sent %i times ends in: %s', async (status, times, expected) => {
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      for (let sent = 0; sent < times; sent++) socket.write(`HTTP/1.1 ${status} Again\r\n\r\n`)
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast')
    }),
  )
  const { port } = await bootGateway({
    upstream: upstream.url,
    listen: { interim: 'relay' },
    defaults: { retry: 'none' },
  })

  const response = await fetch(`http://127.0.0.1:${port}/market/insights`)

  expect(await response.text()).toContain(expected)
})
