import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { rawClient } from './raw-client.ts'
import { onRequest, openRawUpstream, type RawUpstream } from './upstream.ts'
import { eventually } from './wire.ts'

/** Lists the ways in which {@link openMisbehavingUpstream} can go wrong, by the name that stands in the query. */
const misbehaviors: Readonly<Record<string, (socket: Socket) => void>> = {
  stall: () => {},
  reset: (socket) => socket.resetAndDestroy(),
  end: (socket) => socket.end(),
  'end-in-head': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Le'),
  unparsable: (socket) => socket.write('no such protocol\r\n\r\n'),
  'coding-gzip': (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxyz'),
  switching: (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
  oversized: (socket) => socket.write(`HTTP/1.1 200 OK\r\nX-Large: ${'x'.repeat(100_000)}\r\n\r\n`),
  'short-length': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
  'short-chunks': (socket) => socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'),
  'bad-chunk': (socket) => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'),
  'reset-in-body': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', () => socket.resetAndDestroy()),
  'stall-in-body': (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
}

export interface MisbehavingUpstream extends RawUpstream {
  /** Waits until the head of the request with this X-Request-Id has arrived. */
  arrived(id: string): Promise<void>
}

/** Opens an upstream that goes wrong as the query of each request asks: `GET /market/insights?reset`. */
export const openMisbehavingUpstream = async (): Promise<MisbehavingUpstream> => {
  const begun = new Set<string>()
  const upstream = await openRawUpstream((socket) => {
    socket.setNoDelay()
    let responded = false
    socket.on('end', () => socket.end())
    onRequest(socket, (head) => {
      begun.add(/^x-request-id: (.*)\r$/im.exec(head)?.[1] ?? '')
      const behave = misbehaviors[/\?([a-z-]*)/.exec(head)?.[1] ?? '']
      if (behave === undefined || responded) return void socket.destroy()
      responded = true
      behave(socket)
    })
  })
  return { ...upstream, arrived: (id) => eventually(() => begun.has(id)) }
}

/** An address where connections are never accepted. */
export interface FullBacklog {
  readonly port: number
  close(): Promise<void>
}

// A thread that listens, says where, and then sleeps for good: its event loop accepts nothing.
const sleeper = `
  const { parentPort } = require('node:worker_threads')
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    parentPort.postMessage(server.address().port)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`

/** Opens a listener whose backlog is full, so that the kernel drops what else would connect. */
export const openFullBacklog = async (): Promise<FullBacklog> => {
  const worker = new Worker(sleeper, { eval: true })
  const port = await new Promise<number>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  // Linux queues one more than the backlog says.
  const queued = await Promise.all([rawClient(port), rawClient(port)])
  return {
    port,
    close: async () => {
      for (const client of queued) client.close()
      await worker.terminate()
    },
  }
}
