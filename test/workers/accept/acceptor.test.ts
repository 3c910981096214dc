/** Clients that come while nobody takes them. */
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { ListenConfig } from '../../../src/config/config.ts'
import { Acceptor } from '../../../src/workers/accept/acceptor.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { rawClient } from '../../helpers/raw-client.ts'

const open = async (mostWaiting?: number, listen: Partial<ListenConfig> = {}) => {
  let turned = 0
  const entrance = new Acceptor(
    { overLimit: { record: () => turned++ }, overAddressLimit: { record: () => turned++ } },
    1000,
    mostWaiting,
  )
  entrance.applyConfig({ ...testConfig().listen, maxConnections: null, ...listen })
  const { port } = await entrance.listen({ host: '127.0.0.1', port: 0 })
  const handed: Socket[] = []
  const taker = { handOff: (socket: Socket) => handed.push(socket) > 0, onTimeout: () => {} }
  onTestFinished(() => {
    entrance.distributor.remove(taker)
    entrance.stopAccepting()
    for (const socket of handed) socket.destroy()
  })
  return { entrance, port, handed, taker, turned: () => turned }
}

test('so many wait that descriptors are left to start a worker with; the others are closed', async () => {
  const { port, entrance, taker, handed } = await open(2)
  const clients = [await rawClient(port), await rawClient(port), await rawClient(port)]

  const { how } = (await clients[2]?.ended()) ?? {}
  entrance.distributor.add(taker)
  entrance.distributor.onAck(taker)

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

    entrance.distributor.add(taker)
    const taken = (): number => {
      entrance.distributor.onAck(taker)
      return handed.length
    }
    await expect.poll(taken).toBe(2)

    expect(handed.map(({ remotePort }) => remotePort)).toEqual([said.socket.localPort, last.socket.localPort])
    for (const client of [said, last]) client.close()
  },
)

test('of one address no more come in than may, wherever those before are by now', async () => {
  const { port, entrance, taker, handed, turned } = await open(undefined, { maxConnectionsPerAddress: 1 })
  entrance.distributor.add(taker)
  const first = await rawClient(port)
  await expect.poll(() => handed.length).toBe(1)

  const second = await (await rawClient(port)).ended()

  expect([second.received, turned()]).toEqual(['', 1])
  first.close()
})
