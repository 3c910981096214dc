/** Measures how long a reload takes that moves every group to fifty other endpoints, while requests are served. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../helpers/free-port.ts'
import { program } from '../helpers/program.ts'
import { addresses } from './addresses.ts'
import { cpuBetween, readCpu } from './cpu.ts'
import { connectionsFor, rateLoad } from './h2load.ts'
import type { Turn } from './load.ts'
import { behindEach, gatewayFile } from './peers/gateway.ts'
import { here, serveTree } from './peers/gateway-tree.ts'
import { machine } from './report.ts'
import type { Stage } from './stage.ts'
import { median } from './stats.ts'
import { get } from './workload.ts'

export interface ReloadReport {
  readonly date: string
  readonly machine: string
  readonly endpoints: number
  readonly workers: number
  /** From the order to the answer that says that it is in effect. */
  readonly millis: readonly number[]
  /** CPU time of the gateway meanwhile, what it served included: what a busy machine leaves alone. */
  readonly cpuMillis: readonly number[]
  readonly medianMs: number
  readonly atMostMs: number
  /** What clients had of it. */
  readonly load: Turn
}

interface Took {
  readonly ms: number
  readonly cpuMs: number
}

const endpoints = 50
const atMostMs = 100
/** Requests a second meanwhile: a light load, so that what is measured is the reload. */
const rate = 500
/** Between two reloads. */
const pauseMs = 250
/** Reloads for each of --rounds. */
const reloadsARound = 4

/** Reloads over and over, between two sets of addresses that have none in common; the first, from one endpoint each, is left out. */
export const reload = async (stage: Stage, workers: number): Promise<ReloadReport> => {
  const h2load = await program('h2load')
  if (h2load.missing !== null) throw new Error(h2load.missing)
  const directory = join(stage.directory, `reload-${workers}`)
  await mkdir(directory)
  const adminPort = await freePort()
  const text = (port: number, hosts: readonly string[]): string =>
    `${gatewayFile(port, { adminPort })}reload: { watch: false }\nworkers: ${workers}\n${behindEach(hosts, stage.upstreamPort)}`
  const running = await serveTree(here, { ...stage, directory }, (port) => text(port, addresses(1)))
  stage.atEnd(running.stop)
  const order = async (turn: number): Promise<Took> => {
    await writeFile(join(directory, 'gateway.yaml'), text(running.port, addresses(endpoints, 1 + (turn % 2))))
    const before = readCpu(running.pid)
    const startedAt = performance.now()
    const answer = await fetch(`http://127.0.0.1:${adminPort}/reload`, { method: 'POST' })
    const said = await answer.text()
    const ms = performance.now() - startedAt
    const cpuMs = cpuBetween(before, readCpu(running.pid)) / 1e6
    if (answer.status !== 200 || !said.includes('"result":"applied"')) throw new Error(`reload: ${said.slice(0, 500)}`)
    console.error(`reload ${turn}: ${ms.toFixed(1)} ms, ${cpuMs.toFixed(1)} ms of CPU time`)
    await sleep(pauseMs)
    return { ms, cpuMs }
  }
  const count = stage.options.rounds * reloadsARound
  const load = rateLoad(h2load.path, stage.directory, rate)
  const loaded = load.run(running, get, Math.ceil((count * (pauseMs + atMostMs)) / 1_000), connectionsFor(rate))
  const taken: Took[] = []
  try {
    for (let turn = 0; turn <= count; turn++) taken.push(await order(turn))
  } finally {
    await loaded
  }
  const millis = taken.slice(1).map(({ ms }) => ms)
  const cpuMillis = taken.slice(1).map(({ cpuMs }) => cpuMs)
  const found = { endpoints, workers, millis, cpuMillis, medianMs: median(millis), atMostMs, load: await loaded }
  return { date: new Date().toISOString(), machine: machine(), ...found }
}

/** Writes the result in a few lines. */
export const renderReload = ({
  date,
  machine: where,
  millis,
  cpuMillis,
  medianMs,
  load,
  workers,
}: ReloadReport): string => {
  const spread = `${Math.min(...millis).toFixed(1)}–${Math.max(...millis).toFixed(1)}`
  const held = medianMs <= atMostMs ? 'held' : 'missed'
  return [
    `${date}; ${where}`,
    `${millis.length} reloads that move all groups to ${endpoints} other endpoints each, ${rate} requests/s meanwhile, workers: ${workers}`,
    `median ${medianMs.toFixed(1)} ms (${spread}), at most ${atMostMs}: ${held}; CPU time ${median(cpuMillis).toFixed(1)} ms`,
    `meanwhile: ${load.served} requests served, ${load.failed} failed, p50 ${load.p50Ms.toFixed(2)} ms, p99 ${load.p99Ms.toFixed(2)} ms`,
  ].join('\n\n')
}
