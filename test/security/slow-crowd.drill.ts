import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { bootGatewayProcess } from '../helpers/gateway-process.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'
import { dial } from '../helpers/wire.ts'

// The attack: a crowd of clients that ask for much and read nothing of it, or that send much to a back end which is
// slow to take it. Each is one of ten thousand; what is held for it must not be what it asked for.
const crowd = 40
const bytes = 16 * 1024 * 1024

// The whole of it is 640 MiB. What is held is below 1 MiB each, and the collector takes its time.
const mostBytes = 200 * 1024 * 1024

const piece = Buffer.alloc(256 * 1024, 'x')

/** Writes as much as is taken, and returns how much that was so far. */
const pump = (socket: Socket): (() => number) => {
  let written = 0
  const write = (): void => {
    while (written < bytes && !socket.destroyed) {
      written += piece.length
      if (!socket.write(piece)) return void socket.once('drain', write)
    }
  }
  write()
  return () => written - socket.writableLength
}

/** Waits until no client has sent anything for a while, and returns how much all of them have sent. */
const stalled = async (writers: readonly (() => number)[]): Promise<number> => {
  for (let before = -1; ; ) {
    const now = writers.reduce((sum, taken) => sum + taken(), 0)
    if (writers.length === crowd && now === before) return now
    before = now
    await pause(250)
  }
}

const get = 'GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n'
const post = `POST /risk/asset-valuation HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`

test('a crowd that reads nothing, clients and upstreams, costs a bounded amount of memory', async () => {
  const writers: (() => number)[] = []
  const large = await rawUpstream((socket) =>
    onRequest(socket, () => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`)
      writers.push(pump(socket))
    }),
  )
  const slow = await rawUpstream((socket) => void socket.pause())
  const gateway = await bootGatewayProcess({ upstreams: { market: large.url, risk: slow.url } })
  gateway.stdout().resume()
  const before = await gateway.census()

  for (let n = 0; n < crowd; n++) {
    const client = await dial(gateway.port)
    onTestFinished(() => void client.destroy())
    client.pause()
    client.write(n % 2 === 0 ? get : post)
    if (n % 2 === 1) writers.push(pump(client))
  }
  const taken = await stalled(writers)

  const { residentBytes } = await gateway.census()
  expect(residentBytes - before.residentBytes).toBeLessThan(mostBytes)
  expect(taken).toBeLessThan(crowd * bytes) // or no client was slow
})
