/** Sends at a fixed rate with h2load, and reads latencies from what it logs of each request. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Load, output, type Turn, type Watch } from './load.ts'
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
/** Seconds for which it goes on after that part: it may have begun later than it was asked to. */
const spareSeconds = 0.3

/** Makes a load of `rate` requests a second in all, on as many connections as it is asked for. */
export const rateLoad = (path: string, directory: string, rate: number): Load => ({
  name: `h2load, ${rate} requests/s`,
  run: async (port, { operation, target, fields, body }, seconds, connections, watch) => {
    if (operation.method !== 'GET' || body !== '') throw new Error('h2load is used for GET only')
    // One connection after the other, no faster than requests: begun together they would all send in the same millisecond for ever.
    const periodMs = Math.ceil(1_000 / rate)
    const before = warmUpSeconds + (connections * periodMs) / 1_000
    const requests = connections * Math.ceil((rate / connections) * (before + seconds + spareSeconds))
    const logFile = join(directory, 'h2load.log')
    const args = ['--h1', '-c', connections, '-m', 1, '--rps', (rate / connections).toFixed(3)]
    const pace = ['-r', 1, '--rate-period', `${periodMs}ms`, '-n', requests, '--log-file', logFile]
    const named = Object.entries(fields).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const command = [...args, ...pace, ...named, `http://127.0.0.1:${port}${target}`].map(String)
    const ended = output(path, command, before + seconds + spareSeconds)
    const part = await Promise.race([counting(before, seconds, watch), ended.then(() => endedEarly)])
    await ended
    const turn = readLog(await readFile(logFile, 'utf8'), part)
    await rm(logFile)
    return turn
  },
})

/** Is a part of a run, in microseconds since the epoch as h2load logs them. */
interface Part {
  readonly fromUs: number
  readonly toUs: number
}

/** Takes nothing: a run that ends before its part does has none. */
const endedEarly: Part = { fromUs: 0, toUs: 0 }

const counting = async (before: number, seconds: number, watch?: Watch): Promise<Part> => {
  await sleep(before * 1_000)
  const fromUs = Date.now() * 1_000
  watch?.begin()
  await sleep(seconds * 1_000)
  watch?.end()
  return { fromUs, toUs: Date.now() * 1_000 }
}

/**
 * Reads h2load's log: start (µs), status, duration (µs) of each request. All of them were served or failed; latencies are those of
 * requests that began in the part that counts.
 */
export const readLog = (text: string, { fromUs, toUs }: Part): Turn => {
  const requests = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t').map(Number))
  const within = (us: number): boolean => us >= fromUs && us < toUs
  const served = requests.filter(([, status = -1]) => status >= 200 && status < 400)
  const begun = served.filter(([start = 0]) => within(start))
  const ended = served.filter(([start = 0, , us = 0]) => within(start + us))
  const sortedUs = Float64Array.from(begun, ([, , us = 0]) => us).sort()
  const firstUs = requests.reduce((first, [start = 0]) => Math.min(first, start), Number.POSITIVE_INFINITY)
  const lastUs = requests.reduce((last, [start = 0, , us = 0]) => Math.max(last, start + us), firstUs)
  return {
    served: served.length,
    failed: requests.length - served.length,
    seconds: (lastUs - firstUs) / 1e6,
    p50Ms: quantile(sortedUs, 0.5) / 1_000,
    p99Ms: quantile(sortedUs, 0.99) / 1_000,
    steady: { rate: (begun.length * 1e6) / (toUs - fromUs), served: ended.length },
  }
}
