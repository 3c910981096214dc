/** Sends at a fixed rate with h2load, and reads latencies from what it logs of each request. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Load, output, type Turn } from './load.ts'
import { quantile } from './stats.ts'

/**
 * Bounds what one connection carries a second. h2load's rate is each connection's own, its timer ticks no faster than 100 times a
 * second, and a request waits there for the one before it, unseen: so few that this happens only when an answer takes 20 ms.
 */
const perConnection = 49

/** Says how many connections carry `rate` requests a second. */
export const connectionsFor = (rate: number): number => Math.ceil(rate / perConnection)

/** Seconds before the part that counts, the start of all connections not included. */
const warmUpSeconds = 0.5

/** Makes a load of `rate` requests a second in all, on as many connections as it is asked for. */
export const rateLoad = (path: string, directory: string, rate: number): Load => ({
  name: `h2load, ${rate} requests/s`,
  run: async (port, { operation, target, fields, body }, seconds, connections) => {
    if (operation.method !== 'GET' || body !== '') throw new Error('h2load is used for GET only')
    // One connection after the other, no faster than requests: begun together they would all send in the same millisecond for ever.
    const periodMs = Math.ceil(1_000 / rate)
    const before = warmUpSeconds + (connections * periodMs) / 1_000
    const requests = connections * Math.ceil((rate / connections) * (before + seconds))
    const logFile = join(directory, 'h2load.log')
    const args = ['--h1', '-c', connections, '-m', 1, '--rps', (rate / connections).toFixed(3)]
    const pace = ['-r', 1, '--rate-period', `${periodMs}ms`, '-n', requests, '--log-file', logFile]
    const named = Object.entries(fields).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    await output(path, [...args, ...pace, ...named, `http://127.0.0.1:${port}${target}`].map(String), before + seconds)
    const turn = readLog(await readFile(logFile, 'utf8'), before, seconds)
    await rm(logFile)
    return turn
  },
})

/**
 * Reads h2load's log: start (µs), status, duration (µs) of each request. All of them were served or failed; latencies are those of
 * requests that began within `seconds` after the first `before` seconds.
 */
export const readLog = (text: string, before: number, seconds: number): Turn => {
  const requests = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t').map(Number))
  const startUs = requests.reduce((first, [start = 0]) => Math.min(first, start), Number.POSITIVE_INFINITY)
  const fromUs = startUs + before * 1e6
  const toUs = fromUs + seconds * 1e6
  const served = requests.filter(([, status = -1]) => status >= 200 && status < 400)
  const counted = served.filter(([start = 0]) => start >= fromUs && start < toUs)
  const sortedUs = Float64Array.from(counted, ([, , us = 0]) => us).sort()
  const endUs = requests.reduce((last, [start = 0, , us = 0]) => Math.max(last, start + us), startUs)
  return {
    served: served.length,
    failed: requests.length - served.length,
    seconds: (endUs - startUs) / 1e6,
    p50Ms: quantile(sortedUs, 0.5) / 1_000,
    p99Ms: quantile(sortedUs, 0.99) / 1_000,
    rate: counted.length / seconds,
  }
}
