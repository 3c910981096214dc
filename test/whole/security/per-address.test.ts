import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootGateway, type LogLine } from '../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'
import { isWholeResponse, rawClient } from '../../helpers/raw-client.ts'
import { bareGet } from '../../helpers/wire.ts'

// The attack: one client opens as many connections as the gateway takes from all clients, and keeps them.
afterEach(() => void vi.useRealTimers())

/** Connects from an address of the loopback, asks, and returns whether there was a response; the connection stays. */
const askFrom = (port: number, localAddress = '127.0.0.1'): Promise<Socket | null> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    onTestFinished(() => void socket.destroy())
    let text = ''
    socket.on('error', () => {})
    socket.on('close', () => resolve(null))
    socket.setEncoding('latin1').on('data', (more: string) => {
      text += more
      if (isWholeResponse(text)) resolve(socket)
    })
    socket.write(bareGet())
  })

const isRejected = ({ msg }: LogLine): boolean => msg === 'connections rejected'

describe('of one address', () => {
  test('so many connections are served, the next is closed, and other addresses are served meanwhile', async () => {
    const { port, line } = await bootGateway({ listen: { maxConnectionsPerAddress: 2 } })

    const [first, second, third] = [await askFrom(port), await askFrom(port), await askFrom(port)]
    const other = await askFrom(port, '127.0.0.2')
    first?.destroy()
    await expect.poll(() => askFrom(port)).not.toBeNull()

    expect([first, second, third, other].map((each) => each !== null)).toEqual([true, true, false, true])
    expect(await line(isRejected)).toMatchObject({
      ...{ level: 40, setting: 'maxConnectionsPerAddress', connections: 1 },
    })
  })

  test('a flood leaves a line a second in the log', async () => {
    const { port, lines } = await bootGateway({ listen: { maxConnectionsPerAddress: 1 } })
    await askFrom(port)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const counts = () => lines.filter(isRejected).map(({ connections }) => connections)

    for (let n = 0; n < 20; n++) await askFrom(port)
    const before = counts()
    vi.advanceTimersByTime(1001)

    expect([before, counts()]).toEqual([[1], [1, 19]])
  })
})

test('a listener that is full rejects clients, says so, and leaves operators theirs', async () => {
  const live = await bootLiveGateway({ listen: { maxConnections: 1 } })
  const port = Number(new URL(live.url).port)
  const holder = await rawClient(port)

  const next = await (await rawClient(port)).ended()
  const status = await fetchAdmin(`${live.admin}/status`)
  holder.close()

  expect(next.received).toBe('')
  expect(status.status).toBe(200)
})
