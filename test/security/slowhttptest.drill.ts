import { execFile } from 'node:child_process'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bootGatewayProcess } from '../helpers/gateway-process.ts'
import { needProgram } from '../helpers/program.ts'
import { openHttpUpstream } from '../helpers/upstream.ts'

// The attack by another program: Debian's slowhttptest. `SLOW_CONNECTIONS=1000 SLOW_SECONDS=25 npm run test:drills --
// slowhttptest` is the large run, and prints its figures.
const connections = Number(process.env.SLOW_CONNECTIONS ?? 100)
const seconds = Number(process.env.SLOW_SECONDS ?? 2)
// The attack ends after these seconds, once it is a crowd. A busy machine may need as many again.
const patience = 60
const run = promisify(execFile)
const slowhttptest = await needProgram('slowhttptest')

const KiB = 1024
const MiB = 1024 * KiB
const bytes = 4 * MiB

/**
 * The memory that the crowd may cost, with the garbage of `asked` other requests. Slow readers cost 112 to 129 MiB
 * here; a gateway that holds every response whole would need 400.
 */
const mostBytes = (asked: number): number => 128 * MiB + connections * 160 * KiB + Math.min(96 * MiB, asked * 16 * KiB)

const few = 50
const reads = ['-X', '-w', '512', '-y', '1024', '-n', '1', '-z', '32', '-k', '2']

/** Sends a request as a client of another address than the crowd's, and returns the status. */
const askFromElsewhere = (port: number, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request({ port, path, host: '127.0.0.1', localAddress: '127.0.0.2', agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    asked.on('error', reject).end()
  })

describe.skipIf(slowhttptest.missing)('of a crowd of slow clients', () => {
  test.each([
    ['heads (-H)', ['-H', '-i', '1'], '/market/insights', '/market/insights', {}],
    ['bodies (-B)', ['-B', '-i', '1', '-s', '100000'], '/risk/asset-valuation', '/market/insights', {}],
    ['reads (-X)', reads, '/compliance/audit-trail', '/market/insights', {}],
    ['reads (-X), few of an address', reads, '/market/insights', '/market/insights', { maxConnectionsPerAddress: few }],
  ])(
    '%s others notice nothing, and memory stays within bounds',
    async (mode, options, path, others, more) => {
      const upstream = await openHttpUpstream(({ url }, response) => {
        if (url.endsWith('?quick')) response.end('ok')
        else response.end(Buffer.alloc(bytes))
      })
      onTestFinished(() => upstream.close())
      const gateway = await bootGatewayProcess({
        upstream: upstream.url,
        // In this process, the timer is late on a busy machine.
        defaults: { deadline: 'none', timeouts: { connect: '60s', headers: 'none' } },
        listen: { minRate: '240B/s', ...more },
        log: { access: false },
      })
      gateway.stdout().resume()
      const ask = (): Promise<number> => askFromElsewhere(gateway.port, `${others}?quick`)
      await ask()
      const before = (await gateway.census()).residentBytes

      const url = `http://127.0.0.1:${gateway.port}${path}`
      const lasting = String(seconds + patience)
      const sized = ['-c', String(connections), '-r', String(connections), '-l', lasting, '-p', '5', '-v', '1']
      const attack = run(slowhttptest.path ?? '', [...options, ...sized, '-u', url])
      let over = false
      void attack.finally(() => {
        over = true
      })
      const crowd = 'maxConnectionsPerAddress' in more ? few / 2 : connections / 2
      const until = performance.now() + seconds * 1000
      const times: number[] = []
      const statuses = new Set<number>()
      let [most, sockets] = [before, 0]
      while (!over) {
        const begun = performance.now()
        statuses.add(await ask())
        times.push(performance.now() - begun)
        const { residentBytes, descriptors } = await gateway.census()
        most = Math.max(most, residentBytes)
        sockets = Math.max(sockets, descriptors.filter((each) => each === 'socket').length)
        if (performance.now() > until && sockets > crowd) attack.child.kill('SIGINT')
        await pause(20)
      }
      const { stdout: output } = await attack

      if (process.env.SLOW_CONNECTIONS !== undefined) {
        times.sort((a, b) => a - b)
        const at = (share: number): string => `${times[Math.floor((times.length - 1) * share)]?.toFixed(1)} ms`
        const grown = `${((most - before) / MiB).toFixed(0)} MiB more memory`
        const shown = `${mode}: ${sockets} sockets at most, ${grown}, others: ${times.length} asked, ${[...statuses]}`
        console.log(`${shown}, median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}\n${output.slice(-700)}`)
      }
      expect([...statuses]).toEqual([200])
      expect(sockets).toBeGreaterThan(crowd)
      expect(most - before).toBeLessThan(mostBytes(times.length))
    },
    120_000,
  )
})
