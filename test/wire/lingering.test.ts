import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { openGateway } from '../helpers/gateway.ts'
import { readToEnd, renderHead } from '../helpers/wire.ts'

afterEach(() => void vi.useRealTimers())

test('a client that still sends after its response is not taken for one that is idle', async () => {
  const listen = { timeouts: { keepAlive: '100ms', headers: '100ms' } }
  const { port, gateway } = await openGateway({ upstream: 'http://127.0.0.1:1', listen })
  onTestFinished(() => gateway.close())
  const countRejected = async (): Promise<number> => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.write(renderHead({ method: 'GET', target: '/unknown', fields: ['Connection', 'close'] }))
    return (await readToEnd(socket)).status
  }
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let lost: Error | null = null
  client.on('error', (error) => {
    lost = error
  })
  client.write(
    renderHead({
      method: 'POST',
      target: '/unknown',
      fields: ['Connection', 'keep-alive', 'Content-Length', '10000000'],
    }),
  )
  await once(client.resume(), 'end')

  // Connections between two requests end after 2.2 s, those of clients that send nothing after 5.
  vi.advanceTimersByTime(4_000)
  for (let i = 0; i < 3; i++) {
    client.write('x')
    await countRejected() // whatever the gateway has done by then has come here
  }

  expect(lost).toBe(null)
  client.destroy()
})
