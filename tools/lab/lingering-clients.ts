/**
 * Lets clients go on and on after their rejection, a few bytes every second, and prints what they cost:
 * `node tools/lab/lingering-clients.ts [CLIENTS] [SECONDS]`. Meanwhile another client asks for a small response, again
 * and again. Ends with 1 when any of its responses is not the one due, or when attackers are left that should have been
 * cut.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { makeCertificates } from '../../test/helpers/certificates.ts'
import { program } from '../../test/helpers/program.ts'
import { residentKiB } from '../bench/memory.ts'
import { openEarlyUpstream, startGateways } from './uploads/rejecting-servers.ts'

const [clients = 1000, seconds = 45] = process.argv.slice(2).map(Number)

const { path, missing } = await program('openssl')
if (path === null) throw new Error(missing)
const upstream = await openEarlyUpstream()
const gateway = await startGateways(upstream.url, makeCertificates(path).right)
const port = gateway.plain[0]?.port ?? 0
const residentMiB = (): number => Math.round(residentKiB(gateway.plainPid) / 1024)

const attack = (): Socket => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.write('POST /unknown HTTP/1.1\r\nHost: a\r\nContent-Length: 60000000\r\n\r\n')
  const drip = setInterval(() => socket.write('drip'), 1000)
  socket.once('close', () => clearInterval(drip))
  return socket.resume()
}

/** Asks for a response on a connection of its own, and says how long it took; null: it was another. */
const ask = async (): Promise<number | null> => {
  const startedAt = performance.now()
  const { status } = await fetch(`http://127.0.0.1:${port}/market/insights`, { headers: { connection: 'close' } })
  return status === 413 ? performance.now() - startedAt : null // what the upstream says to all
}

console.log(
  '| second | attackers left | memory (MiB) | responses | median (ms) | longest |\n|---:|---:|---:|---:|---:|---:|',
)
let failed = 0
const row = async (second: number, left: number): Promise<void> => {
  const until = performance.now() + 1000
  const took: number[] = []
  while (performance.now() < until) {
    const ms = await ask().catch(() => null)
    if (ms === null) failed++
    else took.push(ms)
    await pause(10)
  }
  took.sort((a, b) => a - b)
  const [median = 0, longest = 0] = [took[took.length >> 1], took.at(-1)].map((ms) => Math.round(ms ?? 0))
  if (second % 5 === 0)
    console.log(`| ${second} | ${left} | ${residentMiB()} | ${took.length} | ${median} | ${longest} |`)
}
await row(-5, 0)
const sockets = Array.from({ length: clients }, attack)
const left = (): number => sockets.filter((socket) => !socket.destroyed).length
for (let second = 0; second <= seconds; second++) await row(second, left())
console.log(`\n${failed} of the other client's responses were not the one due; ${left()} attackers are left`)
await gateway.stop()
process.exit(failed === 0 && left() === 0 ? 0 : 1)
