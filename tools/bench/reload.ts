/** Measures how long reloads take while requests are served, and how long those wait. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/helpers/free-port.ts'
import { program } from '../../test/helpers/program.ts'
import { cpuBetween, readCpu } from './cpu.ts'
import { connectionsFor, type Logged, requestsAt, turnOf } from './h2load.ts'
import type { Turn } from './load.ts'
import { gatewayFile } from './peers/gateway.ts'
import { projectRoot, serveTree } from './peers/gateway-tree.ts'
import type { Running } from './process.ts'
import type { ReloadCase } from './reload-cases.ts'
import { machine } from './report.ts'
import type { Stage } from './stage.ts'
import { median } from './stats.ts'

export interface ReloadReport {
  readonly date: string
  readonly machine: string
  readonly workers: number
  readonly cases: readonly CaseReport[]
}

interface CaseReport {
  readonly name: string
  readonly atMostMs: number
  readonly edits: readonly EditReport[]
  /** What clients had of it. */
  readonly load: Turn
}

interface EditReport {
  readonly what: string
  /** From the command to the response that says that it is in effect. */
  readonly millis: readonly number[]
  /** CPU time of the gateway meanwhile, what it served included: what a busy machine leaves alone. */
  readonly cpuMillis: readonly number[]
  /** The longest that a request took which was under way meanwhile: the event loop stood still no longer. */
  readonly longestMillis: readonly number[]
}

interface Took {
  readonly fromUs: number
  readonly toUs: number
  readonly ms: number
  readonly cpuMs: number
}

/** Requests a second meanwhile: a light load, so that what is measured is the reload. */
const rate = 500
/** Between two reloads. */
const pauseMs = 250
/** Reloads by each edit for each of --rounds. */
const reloadsARound = 4

/** Takes the cases one after another, each with a gateway of its own. */
export const reload = async (stage: Stage, workers: number, cases: readonly ReloadCase[]): Promise<ReloadReport> => {
  const h2load = await program('h2load')
  if (h2load.missing !== null) throw new Error(h2load.missing)
  const reports: CaseReport[] = []
  for (const each of cases) reports.push(await take(stage, workers, each, h2load.path))
  return { date: new Date().toISOString(), machine: machine(), workers, cases: reports }
}

/** Reloads over and over, by one edit after another; the first by each is left out. */
const take = async (stage: Stage, workers: number, given: ReloadCase, h2load: string): Promise<CaseReport> => {
  const { name, edits, atMostMs, workload } = given
  const directory = join(stage.directory, `reload-${name}-${workers}`)
  await mkdir(directory)
  const made = edits.map(() => 0)
  const adminPort = await freePort()
  const text = (port: number): string =>
    `${gatewayFile(port, { adminPort })}reload: { watch: false }\nworkers: ${workers}\n${given.text(made, stage.upstreamPort)}`
  const write = async (files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [file, held] of Object.entries(files)) await writeFile(join(directory, file), held)
  }
  await write(given.files(made))
  const running = await serveTree(projectRoot, { ...stage, directory }, text)
  const turns = stage.options.rounds * reloadsARound
  const taken = edits.map((): Took[] => [])
  const reloads = async (): Promise<void> => {
    for (let turn = 0; turn <= turns; turn++) {
      for (const [nth, times] of taken.entries()) {
        made[nth] = turn + 1
        await write({ ...given.files(made), 'gateway.yaml': text(running.port) })
        // The load generator shares the machine: what was written is not to be in the way of what is measured.
        await sleep(pauseMs)
        times.push(await command(running, adminPort))
      }
    }
  }
  const seconds = Math.ceil(((turns + 1) * edits.length * (pauseMs + 2 * atMostMs)) / 1_000)
  const connections = connectionsFor(rate)
  try {
    const loaded = requestsAt(h2load, stage.directory, rate, { to: running, workload, seconds, connections })
    await reloads().catch(async (error) => {
      await loaded
      throw error
    })
    const { requests, part } = await loaded
    return {
      name,
      atMostMs,
      edits: edits.map((what, nth) => reportOn(what, taken[nth]?.slice(1) ?? [], requests)),
      load: turnOf(requests, part),
    }
  } finally {
    await running.stop()
  }
}

const command = async (running: Running, adminPort: number): Promise<Took> => {
  const before = readCpu(running.pid)
  const [fromUs, startedAt] = [Date.now() * 1_000, performance.now()]
  const response = await fetch(`http://127.0.0.1:${adminPort}/reload`, { method: 'POST' })
  const said = await response.text()
  const ms = performance.now() - startedAt
  const toUs = Date.now() * 1_000
  const cpuMs = cpuBetween(before, readCpu(running.pid)) / 1e6
  if (response.status !== 200 || !said.includes('"result":"applied"')) throw new Error(`reload: ${said.slice(0, 500)}`)
  console.error(`reload: ${ms.toFixed(1)} ms, ${cpuMs.toFixed(1)} ms of CPU time`)
  return { fromUs, toUs, ms, cpuMs }
}

const reportOn = (what: string, taken: readonly Took[], requests: readonly Logged[]): EditReport => ({
  what,
  millis: taken.map(({ ms }) => ms),
  cpuMillis: taken.map(({ cpuMs }) => cpuMs),
  longestMillis: taken.map(({ fromUs, toUs }) =>
    requests.reduce(
      (longest, { startUs, us }) => (startUs < toUs && startUs + us > fromUs ? Math.max(longest, us / 1_000) : longest),
      0,
    ),
  ),
})

/** Writes the result in a few lines. */
export const renderReload = ({ date, machine: where, workers, cases }: ReloadReport): string =>
  [`${date}; ${where}; workers: ${workers}`, ...cases.map(renderCase)].join('\n\n')

const renderCase = ({ name, atMostMs, edits, load }: CaseReport): string =>
  [
    `${name}, ${rate} requests/s meanwhile: ${load.served} served, ${load.failed} failed, p50 ${load.p50Ms.toFixed(2)} ms, p99 ${load.p99Ms.toFixed(2)} ms`,
    ...edits.map(({ what, millis, cpuMillis, longestMillis }) => {
      const held = median(millis) <= atMostMs ? 'held' : 'missed'
      const times = `median ${spread(millis)} of ${millis.length}, at most ${atMostMs}: ${held}`
      return `- ${what}: ${times}; CPU time ${spread(cpuMillis)}; longest request meanwhile ${spread(longestMillis)}`
    }),
  ].join('\n')

const spread = (values: readonly number[]): string =>
  `${median(values).toFixed(1)} ms (${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)})`
