/**
 * Sends requests of all sizes through the gateway to servers of twelve makes, each of which closes idle connections
 * before the gateway does, and compares every byte both ways:
 * `node tools/lab/real-back-ends.ts [--requests 2000] [--only NAME,…] [--around]`. Pauses are half a second shorter
 * than the server keeps what is idle, and longer by enough for all of them to have closed it; with `--around`, in the
 * very moment, when a POST can be lost (`tools/lab/stale-posts.ts` counts those). Wants Debian's nginx, apache2,
 * lighttpd, caddy, haproxy, python3, gunicorn, uvicorn, golang-go, php-cli and a JDK. Takes ten minutes. Ends with
 * 1 when anything is wrong.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { program } from '../../test/helpers/program.ts'
import { killAll } from '../bench/process.ts'
import { drill, type Plan, type Tally } from './real-back-ends/drill.ts'
import { servers } from './real-back-ends/servers.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '2000' },
    only: { type: 'string' },
    around: { type: 'boolean', default: false },
  },
})
const only = values.only?.split(',')
process.setMaxListeners(100) // a gateway each
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killAll()
    process.exit(130)
  })
}

const place = await mkdtemp(join(tmpdir(), 'back-ends-'))
const requests = Number(values.requests)
const around = (round: number): number => ((round * 7) % 41) - 20
const plan: Plan = {
  requests,
  parent: place,
  // lighttpd looks once a second.
  pauseMs: values.around ? around : (round) => (round % 2 === 0 ? 1500 : -500),
}
const tallies: Tally[] = []
const missing: string[] = []
try {
  for (const server of servers) {
    if (only !== undefined && !only.includes(server.name)) continue
    const found = await program(server.program)
    if (found.missing !== null) missing.push(found.missing)
    else tallies.push(await drill(server, found.path, plan))
  }
} finally {
  await rm(place, { recursive: true, force: true })
}
console.table(tallies.map(({ wrong, ...numbers }) => numbers))
for (const { server, wrong } of tallies) if (wrong !== '') console.log(`${server}: ${wrong}`)
for (const line of missing) console.log(line)
process.exit(missing.length === 0 && tallies.every(({ wrong }) => wrong === '') ? 0 : 1)
