/**
 * Counts the responses that are lost when an upload is rejected before it has been read, through a link of 50 ms and
 * three rates, by clients of Debian's, at the gateway and at nginx: `node tools/lab/uploads.ts [--count N] [--rates
 * 500000,5000000,0] [--only NAME,…] [--no-nginx]`. Takes a quarter of an hour. Ends with 1 when the gateway has lost
 * any.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeCertificates } from '../../test/helpers/certificates.ts'
import { program } from '../../test/helpers/program.ts'
import { slowLink } from '../../test/helpers/slow-link.ts'
import { pseudoRandomBytes } from '../../test/helpers/wire.ts'
import { residentKiB } from '../bench/memory.ts'
import { type UploadClient, uploadClients } from './uploads/clients.ts'
import { openEarlyUpstream, type RejectingServer, startGateways, startNginx } from './uploads/rejecting-servers.ts'

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    rates: { type: 'string', default: '500000,5000000,0' },
    only: { type: 'string' },
    'no-nginx': { type: 'boolean', default: false },
  },
})
const count = Number(values.count)
const rates = values.rates.split(',').map(Number)
const only = values.only?.split(',')

const folder = mkdtempSync(join(tmpdir(), 'uploads-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'body')
writeFileSync(file, pseudoRandomBytes(5 * 1024 * 1024))

const need = async (name: string): Promise<string> => {
  const { path, missing } = await program(name)
  if (path === null) throw new Error(missing)
  return path
}
const { right } = makeCertificates(await need('openssl'))
const upstream = await openEarlyUpstream()
const rejectingServers: RejectingServer[] = [await startGateways(upstream.url, right)]
if (!values['no-nginx'])
  rejectingServers.push(await startNginx(await need('nginx'), join(folder, 'nginx'), upstream.url, right))

const residentMiB = ({ pid }: RejectingServer): number => Math.round(residentKiB(pid) / 1024)

/** Makes a client upload over and over, and returns what it got: how often each status, and what failed. */
const measure = async (client: UploadClient, rejecter: RejectingServer, speech: 'plain' | 'tls', rate: number) => {
  const links = await Promise.all(
    rejecter[speech].map(async ({ port, paths }) => {
      const link = await slowLink({ to: port, delayMs: 50, ...(rate > 0 && { bytesPerSecond: rate }) })
      const scheme = speech === 'tls' ? 'https' : 'http'
      return { link, urls: paths.map((path) => `${scheme}://127.0.0.1:${link.port}${path}`) }
    }),
  )
  // About as much in all at each rate, so that the link and not the machine is what is slow.
  const atOnce = Math.min(count, rate === 0 ? 5 : Math.ceil(25_000_000 / rate))
  const said = await client.run({ file, urls: links.flatMap(({ urls }) => urls), count, atOnce, folder })
  await Promise.all(links.map(({ link }) => link.close()))
  // An upstream that is late on a machine with much else to do is 504: a response too.
  const statuses = said.filter((line) => /^[45]\d\d$/.test(line)).length
  const why = said.find((line) => !/^[45]\d\d$/.test(line)) ?? ''
  return { heard: statuses, lost: count - statuses, why: why.slice(0, 100) }
}

let lostHere = 0
console.log(
  '| client | over | bytes/s | server | lost | of | what the client said | its memory (MiB) |\n|---|---|---:|---|---:|---:|---|---:|',
)
for (const client of uploadClients()) {
  if (only !== undefined && !only.includes(client.name)) continue
  const missing = (await client.need()).find((each) => each.missing !== null)
  if (missing !== undefined) {
    console.log(`| ${client.name} | | | | | | ${missing.missing} | |`)
    continue
  }
  for (const speech of client.speaks === 'h2' ? (['tls'] as const) : (['plain', 'tls'] as const))
    for (const rate of rates)
      await Promise.all(
        rejectingServers.map(async (rejecter) => {
          const { lost, why } = await measure(client, rejecter, speech, rate)
          if (rejecter.name === 'gateway') lostHere += lost
          const over = client.speaks === 'h2' ? 'HTTP/2' : speech === 'tls' ? 'TLS' : 'TCP'
          const row = [
            client.name,
            over,
            rate === 0 ? 'all' : rate,
            rejecter.name,
            lost,
            count,
            why,
            residentMiB(rejecter),
          ]
          console.log(`| ${row.join(' | ')} |`)
        }),
      )
}
console.log(`\nthe gateway has lost ${lostHere}`)
await upstream.close()
await Promise.all(rejectingServers.map((each) => each.stop()))
process.exit(lostHere === 0 ? 0 : 1)
