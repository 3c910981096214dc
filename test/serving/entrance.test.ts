/** Clients that come while nobody takes them. */
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { ListenConfig } from '../../src/config/config.ts'
import { Entrance } from '../../src/serving/entrance.ts'
import { testConfig } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw.ts'

const open = async (mostWaiting?: number, listen: Partial<ListenConfig> = {}) => {
  let turned = 0
  const entrance = new Entrance(
    { tooMany: { count: () => turned++ }, tooManyOfOne: { count: () => turned++ } },
    1000,
    mostWaiting,
  )
  entrance.bound({ ...testConfig().listen, maxConnections: null, ...listen })
  const { port } = await entrance.open({ host: '127.0.0.1', port: 0 })
  const handed: Socket[] = []
  const taker = { hand: (socket: Socket) => handed.push(socket) > 0, doubt: () => {} }
  onTestFinished(() => {
    entrance.dispatcher.remove(taker)
    entrance.leave()
    for (const socket of handed) socket.destroy()
  })
  return { entrance, port, handed, taker, turned: () => turned }
}

test('so many wait that descriptors are left to start a worker with; the others are closed', async () => {
  const { port, entrance, taker, handed } = await open(2)
  const clients = [await rawClient(port), await rawClient(port), await rawClient(port)]

  const { how } = (await clients[2]?.ended()) ?? {}
  entrance.dispatcher.add(taker)
  entrance.dispatcher.taken(taker)

  expect(how).toBe('end')
  expect(handed).toHaveLength(2)
  for (const client of clients) client.close()
})

test.each([null, 10])(
  'who has reset the connection meanwhile is handed to nobody, who has said all is (%s of one address)',
  async (most) => {
    const { entrance, port, handed, taker } = await open(undefined, { maxConnectionsPerAddress: most })
    const [gone, said] = [await rawClient(port), await rawClient(port)]
    gone.socket.resetAndDestroy()
    said.socket.end('the end')
    await gone.ended()
    const last = await rawClient(port)

    entrance.dispatcher.add(taker)
    const taken = (): number => {
      entrance.dispatcher.taken(taker)
      return handed.length
    }
    await expect.poll(taken).toBe(2)

    expect(handed.map(({ remotePort }) => remotePort)).toEqual([said.socket.localPort, last.socket.localPort])
    for (const client of [said, last]) client.close()
  },
)

test('of one address no more come in than may, wherever those before are by now', async () => {
  const { port, entrance, taker, handed, turned } = await open(undefined, { maxConnectionsPerAddress: 1 })
  entrance.dispatcher.add(taker)
  const first = await rawClient(port)
  await expect.poll(() => handed.length).toBe(1)

  const second = await (await rawClient(port)).ended()

  expect([second.received, turned()]).toEqual(['', 1])
  first.close()
})
