/**
 * Generates load where wrk is missing: keep-alive connections, one request in flight on each, one line of JSON at the end. A process
 * of its own, so that its time is not the bench's.
 */
import { connect, type Socket } from 'node:net'
import type { Turn } from './load.ts'
import { quantile } from './stats.ts'

interface Task {
  readonly port: number
  readonly request: string
  readonly seconds: number
  readonly connections: number
}

const task: Task = JSON.parse(process.argv[2] ?? '{}')
const request = Buffer.from(task.request, 'latin1')
const latencies: number[] = []
const sockets = new Set<Socket>()
let failed = 0
let over = false

const open = (): void => {
  const socket = connect({ port: task.port, host: '127.0.0.1', noDelay: true })
  let sentAt = 0
  let rest = ''
  const send = (): void => {
    sentAt = performance.now()
    socket.write(request)
  }
  sockets.add(socket)
  socket.setEncoding('latin1')
  socket.once('connect', send)
  socket.on('data', (text: string) => {
    rest = rest === '' ? text : rest + text
    const status = whole(rest)
    if (status === 0 || over) return
    rest = ''
    if (status < 400) latencies.push(performance.now() - sentAt)
    else failed++
    send()
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    sockets.delete(socket)
    if (over) return
    failed++
    // A pause, so that a peer that refuses connections is not asked in a busy loop.
    setTimeout(open, 10)
  })
}

/** Tells the status of an answer that is complete, by length or by the last chunk; 0 while more has to come. */
const whole = (text: string): number => {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return 0
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
  const complete = length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= headEnd + 4 + Number(length)
  return complete ? Number(text.slice(9, 12)) : 0
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
