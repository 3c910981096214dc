import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bootProcess } from '../helpers/gateway-process.ts'
import { needProgram } from '../helpers/program.ts'
import { openHttpUpstream } from '../helpers/upstream.ts'
import { call } from '../helpers/wire.ts'

// The attack as others make it: Debian's slowhttptest. `SLOW_CONNECTIONS=1000 SLOW_SECONDS=25 vitest run test/security/slowhttptest.test.ts`
// is the large one, and prints its figures.
const connections = Number(process.env.SLOW_CONNECTIONS ?? 100)
const seconds = Number(process.env.SLOW_SECONDS ?? 2)
const run = promisify(execFile)
const slowhttptest = await needProgram('slowhttptest')

// What a connection and its request cost, and what the collector has not looked at yet.
const mostBytes = 48 * 1024 * 1024 + connections * 160 * 1024

const bytes = 1024 * 1024
const MiB = 1024 * 1024

describe.skipIf(slowhttptest.missing)('of a crowd of slow clients', () => {
  test.each([
    ['heads (-H)', ['-H', '-i', '1'], '/market/insights'],
    ['bodies (-B)', ['-B', '-i', '1', '-s', '100000'], '/risk/asset-valuation'],
    ['reads (-X)', ['-X', '-w', '512', '-y', '1024', '-n', '1', '-z', '32', '-k', '2'], '/market/insights'],
  ])(
    '%s others notice nothing, and memory stays within bounds',
    async (mode, options, path) => {
      const upstream = await openHttpUpstream(({ url }, response) => {
        if (url.endsWith('?quick')) response.end('ok')
        else response.end(Buffer.alloc(bytes))
      })
      onTestFinished(() => upstream.close())
      const gateway = await bootProcess({
        upstream: upstream.url,
        listen: { minRate: '240B/s' },
        log: { access: false },
      })
      gateway.stdout().resume()
      const quick = { target: '/market/insights?quick' }
      await call(gateway.port, quick)
      const before = (await gateway.census()).residentBytes

      const url = `http://127.0.0.1:${gateway.port}${path}`
      const sized = ['-c', String(connections), '-r', String(connections), '-l', String(seconds), '-p', '5', '-v', '1']
      const attack = run(slowhttptest.path ?? '', [...options, ...sized, '-u', url]).then(({ stdout }) => stdout)
      let over = false
      void attack.finally(() => {
        over = true
      })
      const times: number[] = []
      const statuses = new Set<number>()
      let [most, sockets] = [before, 0]
      while (!over) {
        const begun = performance.now()
        statuses.add((await call(gateway.port, quick)).status)
        times.push(performance.now() - begun)
        const { residentBytes, descriptors } = await gateway.census()
        most = Math.max(most, residentBytes)
        sockets = Math.max(sockets, descriptors.filter((each) => each === 'socket').length)
      }
      const told = await attack

      if (process.env.SLOW_CONNECTIONS !== undefined) {
        times.sort((a, b) => a - b)
        const at = (share: number): string => `${times[Math.floor((times.length - 1) * share)]?.toFixed(1)} ms`
        const grown = `${((most - before) / MiB).toFixed(0)} MiB more memory`
        const shown = `${mode}: ${sockets} sockets at most, ${grown}, others: ${times.length} asked, ${[...statuses]}`
        console.log(`${shown}, median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}\n${told.slice(-700)}`)
      }
      expect([...statuses]).toEqual([200])
      expect(sockets).toBeGreaterThan(connections / 2) // or there was no crowd
      expect(most - before).toBeLessThan(mostBytes)
    },
    120_000,
  )
})
