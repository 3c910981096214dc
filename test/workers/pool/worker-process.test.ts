/** A worker as the primary sees it. SIGSTOP keeps it from taking what it is sent. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WorkerInit } from '../../../src/workers/ipc/messages.ts'
import { WorkerProcess } from '../../../src/workers/pool/worker-process.ts'

let server: Server
const accepted: Socket[] = []
const clients: Socket[] = []

beforeEach(async () => {
  server = createServer({ pauseOnConnect: true }, (socket) => void accepted.push(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

afterEach(() => {
  for (const socket of [...accepted.splice(0), ...clients.splice(0)]) socket.destroy()
  server.close()
})

const accept = async (count: number): Promise<void> => {
  const { port } = server.address() as AddressInfo
  for (let n = 0; n < count; n++) clients.push(connect(port, '127.0.0.1').on('error', () => {}))
  await expect.poll(() => accepted.length).toBe(count)
}

test('connections that it was about to be sent are returned when it ends, before it is counted as gone', async () => {
  const returned: (Socket | 'gone')[] = []
  const ended = Promise.withResolvers<void>()
  const events = {
    onReady: () => {},
    onHandOff: () => null,
    onConnectionsClosed: () => {},
    onConnectionAck: () => {},
    onConsume: () => null,
    onCountConnection: () => null,
    onRemember: () => null,
    onAuditLines: () => {},
    onInvalidated: () => {},
    onKeysFetched: () => {},
    onGuardReports: () => {},
    onConnectionReturned: (socket: Socket) => void returned.push(socket),
    onDisconnect: () => void returned.push('gone'),
    onExit: () => ended.resolve(),
    onOutput: (stdout: NodeJS.ReadableStream) => void stdout.resume(),
  }
  const worker = new WorkerProcess({ type: 'start' } as WorkerInit, events, 60_000)
  process.kill(worker.pid ?? Number.NaN, 'SIGSTOP')
  await accept(3)

  for (const socket of accepted) worker.handOff(socket)
  worker.kill('enough')
  await ended.promise

  expect(accepted.map(({ destroyed }) => destroyed)).toEqual([true, false, false])
  expect(returned.slice(0, 3)).toEqual([...accepted.slice(1), 'gone'])
})
