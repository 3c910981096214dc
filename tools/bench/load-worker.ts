/**
 * Generates load where wrk is missing, or has no certificate to show: connections with one request in flight on each,
 * one line of JSON at the end. A process of its own, so that its time is not the bench's. Its task comes on stdin: a
 * body may be too long for the command line.
 */
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls } from 'node:tls'
import type { Turn } from './load.ts'
import { responseReader } from './response-reader.ts'
import { quantile } from './stats.ts'

export interface Task {
  readonly port: number
  /** How TLS is spoken, and with which certificate; null: not at all. */
  readonly tls: { readonly rejectUnauthorized: boolean; readonly cert?: string; readonly key?: string } | null
  /** What is sent, by turns. */
  readonly requests: readonly string[]
  readonly seconds: number
  readonly connections: number
}

const task: Task = JSON.parse(await text(process.stdin))
const requests = task.requests.map((each) => Buffer.from(each, 'latin1'))
let nth = 0
const latencies: number[] = []
const sockets = new Set<Socket>()
let failed = 0
let over = false

const open = (): void => {
  const to = { port: task.port, host: '127.0.0.1', noDelay: true }
  const socket = task.tls === null ? connect(to) : connectTls({ ...to, ...task.tls })
  const read = responseReader()
  let sentAt = 0
  let expected = false
  const send = (): void => {
    sentAt = performance.now()
    socket.write(requests[nth++ % requests.length] ?? '')
  }
  sockets.add(socket)
  socket.setEncoding('latin1')
  socket.once(task.tls === null ? 'connect' : 'secureConnect', send)
  socket.on('data', (piece: string) => {
    const response = read(piece)
    if (response === null || over) return
    if (response.status < 400) latencies.push(performance.now() - sentAt)
    else failed++
    if (response.closes) {
      expected = true
      socket.destroy()
    } else send()
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    sockets.delete(socket)
    if (over) return
    if (expected) open()
    else {
      failed++
      // A pause, so that a peer that refuses connections is not asked in a busy loop.
      setTimeout(open, 10)
    }
  })
}

const startedAt = performance.now()
for (let each = 0; each < task.connections; each++) open()

setTimeout(() => {
  over = true
  const sorted = Float64Array.from(latencies).sort()
  const turn: Turn = {
    served: sorted.length,
    failed,
    seconds: (performance.now() - startedAt) / 1_000,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
  }
  console.log(JSON.stringify(turn))
  for (const socket of sockets) socket.destroy()
}, task.seconds * 1_000)
