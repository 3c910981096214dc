/** Sends at a fixed rate with h2load, and reads latencies from what it logs of each request. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { program } from '../../test/helpers/program.ts'
import { type Load, output, type Turn, type Watch } from './load.ts'
import type { Running } from './process.ts'
import { quantile } from './stats.ts'
import type { Workload } from './workload.ts'

/**
 * Limits what one connection carries a second. h2load's rate is each connection's own, its timer ticks no faster than
 * 100 times a second, and a request waits there for the one before it, unseen: so few that this happens only when a
 * response takes 20 ms.
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
  run: async (to, workload, seconds, connections, watch) => {
    const { requests, part } = await requestsAt(path, directory, rate, { to, workload, seconds, connections, watch })
    return turnOf(requests, part)
  },
})

/** Requests in flight on one connection of HTTP/2. */
const streams = 8

/**
 * Makes a closed loop over HTTP/2: as many requests in flight as it is asked for connections, eight on each connection.
 */
export const streamsLoad = async (directory: string): Promise<Load> => {
  const { path, missing } = await program('h2load')
  if (missing !== null) throw new Error(missing)
  return {
    name: `h2load, ${streams} streams a connection`,
    run: async ({ port }, { operation, target, fields, body }, seconds, inFlight) => {
      const [logFile, bodyFile] = [join(directory, 'h2load.log'), join(directory, 'h2load.body')]
      await writeFile(bodyFile, body)
      const args = ['--npn-list=h2', '-c', Math.ceil(inFlight / streams), '-m', streams, '-D', seconds]
      const named = Object.entries(fields).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
      const sent = body === '' ? [] : ['-d', bodyFile]
      const where = ['--log-file', logFile, `https://127.0.0.1:${port}${target}`]
      const said = await output(path, [...args, ...named, ...sent, ...where].map(String), seconds)
      if (!said.includes('Application protocol: h2'))
        throw new Error(`${operation.id}: no HTTP/2: ${said.slice(0, 500)}`)
      const turn = turnOf(logged(await readFile(logFile, 'utf8')), { fromUs: 0, toUs: Number.POSITIVE_INFINITY })
      await rm(logFile)
      const { steady: _, ...whole } = turn // all of it counts
      return whole
    },
  }
}

interface Sending {
  readonly to: Pick<Running, 'port' | 'speaks'>
  readonly workload: Workload
  /** Of the part that counts. */
  readonly seconds: number
  readonly connections: number
  readonly watch?: Watch | undefined
}

/** Sends `rate` requests a second, and gives what became of each of them, and which part of the time counts. */
export const requestsAt = async (
  path: string,
  directory: string,
  rate: number,
  { to: { port, speaks }, workload: { operation, target, fields, body }, seconds, connections, watch }: Sending,
): Promise<{ readonly requests: readonly Logged[]; readonly part: Part }> => {
  if (operation.method !== 'GET' || body !== '') throw new Error('h2load is used for GET only')
  // One connection after the other, no faster than requests: begun together they would all send in the same millisecond
  // for ever.
  const periodMs = Math.ceil(1_000 / rate)
  const before = warmUpSeconds + (connections * periodMs) / 1_000
  const count = connections * Math.ceil((rate / connections) * (before + seconds + spareSeconds))
  const logFile = join(directory, 'h2load.log')
  const args = ['--h1', '-c', connections, '-m', 1, '--rps', (rate / connections).toFixed(3)]
  const pace = ['-r', 1, '--rate-period', `${periodMs}ms`, '-n', count, '--log-file', logFile]
  const named = Object.entries(fields).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const command = [
    ...args,
    ...pace,
    ...named,
    `${speaks === 'http' ? 'http' : 'https'}://127.0.0.1:${port}${target}`,
  ].map(String)
  const ended = output(path, command, before + seconds + spareSeconds)
  const part = await Promise.race([counting(before, seconds, watch), ended.then(() => endedEarly)])
  await ended
  const requests = logged(await readFile(logFile, 'utf8'))
  await rm(logFile)
  return { requests, part }
}

/** One request, as h2load logs it; -1 for a status: there was no response. */
export interface Logged {
  readonly startUs: number
  readonly status: number
  readonly us: number
}

/** Reads h2load's log: start (µs), status, duration (µs) of each request. */
const logged = (text: string): readonly Logged[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [startUs = 0, status = -1, us = 0] = line.split('\t').map(Number)
      return { startUs, status, us }
    })

/** A part of a run, in microseconds since the epoch as h2load logs them. */
export interface Part {
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

/** Reads the log of a run. */
export const readLog = (text: string, part: Part): Turn => turnOf(logged(text), part)

/**
 * Sums up a run: all requests of it were served or failed; latencies are those of requests that began in the part that
 * counts.
 */
export const turnOf = (requests: readonly Logged[], { fromUs, toUs }: Part): Turn => {
  const within = (us: number): boolean => us >= fromUs && us < toUs
  const served = requests.filter(({ status }) => status >= 200 && status < 400)
  const begun = served.filter(({ startUs }) => within(startUs))
  const ended = served.filter(({ startUs, us }) => within(startUs + us))
  const sortedUs = Float64Array.from(begun, ({ us }) => us).sort()
  const firstUs = requests.reduce((first, { startUs }) => Math.min(first, startUs), Number.POSITIVE_INFINITY)
  const lastUs = requests.reduce((last, { startUs, us }) => Math.max(last, startUs + us), firstUs)
  return {
    served: served.length,
    failed: requests.length - served.length,
    seconds: (lastUs - firstUs) / 1e6,
    p50Ms: quantile(sortedUs, 0.5) / 1_000,
    p99Ms: quantile(sortedUs, 0.99) / 1_000,
    steady: { rate: (begun.length * 1e6) / (toUs - fromUs), served: ended.length },
  }
}
