/** Clients that connect while no worker takes them. */
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { ListenConfig } from '../../../src/core/config/config.ts'
import { openAcceptor } from '../../../src/features/workers/acceptor.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { rawClient } from '../../helpers/raw-client.ts'

const open = async (maxWaiting?: number, listen: Partial<ListenConfig> = {}) => {
  let rejected = 0
  const acceptor = openAcceptor(
    { overLimit: { record: () => rejected++ }, overAddressLimit: { record: () => rejected++ } },
    1000,
    maxWaiting,
  )
  acceptor.applyConfig({ ...testConfig().listen, maxConnections: null, ...listen })
  const { port } = await acceptor.listen({ host: '127.0.0.1', port: 0 })
  const handedOff: Socket[] = []
  const receiver = { handOff: (socket: Socket) => handedOff.push(socket) > 0, onTimeout: () => {} }
  onTestFinished(() => {
    acceptor.distributor.remove(receiver)
    acceptor.stopAccepting()
    for (const socket of handedOff) socket.destroy()
  })
  return { acceptor, port, handedOff, receiver, rejected: () => rejected }
}

test('so many wait that descriptors are left to start a worker with; the others are closed', async () => {
  const { port, acceptor, receiver, handedOff } = await open(2)
  const clients = [await rawClient(port), await rawClient(port), await rawClient(port)]

  const { how } = (await clients[2]?.ended()) ?? {}
  acceptor.distributor.add(receiver)
  acceptor.distributor.onAck(receiver)

  expect(how).toBe('end')
  expect(handedOff).toHaveLength(2)
  for (const client of clients) client.close()
})

test.each([null, 10])(
  'a connection that its client has reset meanwhile is handed to no worker, a half-closed one is (%s of one address)',
  async (maxPerAddress) => {
    const { acceptor, port, handedOff, receiver } = await open(undefined, { maxConnectionsPerAddress: maxPerAddress })
    const [reset, halfClosed] = [await rawClient(port), await rawClient(port)]
    reset.socket.resetAndDestroy()
    halfClosed.socket.end('the end')
    await reset.ended()
    const last = await rawClient(port)

    acceptor.distributor.add(receiver)
    const acknowledged = (): number => {
      acceptor.distributor.onAck(receiver)
      return handedOff.length
    }
    await expect.poll(acknowledged).toBe(2)

    expect(handedOff.map(({ remotePort }) => remotePort)).toEqual([halfClosed.socket.localPort, last.socket.localPort])
    for (const client of [halfClosed, last]) client.close()
  },
)

test('an address has no more connections than its limit, whichever process has the earlier ones', async () => {
  const { port, acceptor, receiver, handedOff, rejected } = await open(undefined, { maxConnectionsPerAddress: 1 })
  acceptor.distributor.add(receiver)
  const first = await rawClient(port)
  await expect.poll(() => handedOff.length).toBe(1)

  const second = await (await rawClient(port)).ended()

  expect([second.received, rejected()]).toEqual(['', 1])
  first.close()
})
