/**
 * Measures what a gateway takes to start, and the memory that it holds at rest and under load; two checkouts in turns,
 * where another is named. Each is started by `npm start` in its checkout: with the shipped file at first, and for the
 * load with one whose eight upstreams are one process beside it. Linux only.
 *
 * usage: node tools/lab/at-rest.ts [--before CHECKOUT] [--rounds 15] [--rest 20] [--loaded 3] [--seconds 5]
 *
 * `--rounds` counts starts of each checkout after one that is thrown away (it fills the compile cache), `--rest` the
 * seconds after the first 200, `--loaded` the starts under load, `--seconds` the length of that load.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { freePort } from '../../test/helpers/free-port.ts'
import { addresses } from '../bench/addresses.ts'
import { cpuBetween, processTree, readCpu } from '../bench/cpu.ts'
import { peakKiB, resetPeak } from '../bench/memory.ts'
import { readOptions } from '../bench/options.ts'
import { behindEach, gatewayFile } from '../bench/peers/gateway.ts'
import { projectRoot } from '../bench/peers/gateway-tree.ts'
import { probePath } from '../bench/peers/peer.ts'
import { withStage } from '../bench/stage.ts'
import { median, ratio } from '../bench/stats.ts'
import { table } from '../bench/table.ts'
import { get } from '../bench/workload.ts'

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    rounds: { type: 'string', default: '15' },
    rest: { type: 'string', default: '20' },
    loaded: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
  },
})
const [rounds, rest, loaded, seconds] = [values.rounds, values.rest, values.loaded, values.seconds].map(Number)
const trees = [projectRoot, ...(values.before === undefined ? [] : [resolve(values.before)])]

/** A gateway that `npm start` started, with what that took. */
interface Started {
  /** The gateway's own process: npm's is none of it. */
  readonly pid: number
  readonly port: number
  /** From the spawn of npm to the first 200. */
  readonly ms: number
  /** CPU time of npm and the gateway until then. */
  readonly cpuMs: number
  stop(): Promise<void>
}

/** Runs `npm start` in a checkout, and asks every 5 ms until an operation gets a response. */
const npmStart = async (tree: string, args: (port: number) => Promise<readonly string[]>): Promise<Started> => {
  const [port, adminPort] = [await freePort(), await freePort()]
  const own = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_)/i.test(name))
  const env = { ...Object.fromEntries(own), PORT: String(port), ADMIN_PORT: String(adminPort) }
  const command = ['start', '--silent', '--', ...(await args(port))]
  const startedAt = performance.now()
  const npm = spawn('npm', command, { cwd: tree, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(npm, 'exit')
  while ((await statusOf(port)) !== 200) {
    if (npm.exitCode !== null) throw new Error(`npm start in ${tree}: exit code ${npm.exitCode}`)
    await sleep(5)
  }
  const ms = performance.now() - startedAt
  const pid = gatewayOf(npm)
  const cpuMs = cpuBetween({ liveNs: 0, ticksNs: 0 }, readCpu(npm.pid ?? 0)) / 1e6
  const stop = async (): Promise<void> => {
    process.kill(pid, 'SIGTERM')
    await ended
  }
  return { pid, port, ms, cpuMs, stop }
}

const statusOf = (port: number): Promise<number> =>
  new Promise((resolve) => {
    const asked = request({ host: '127.0.0.1', port, path: probePath, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    asked.on('error', () => resolve(0)).end()
  })

/** Finds the process that serves among those that npm started. */
const gatewayOf = (npm: ChildProcess): number => {
  const found = processTree(npm.pid ?? 0).filter((pid) => /\0src\/[\w-]+\.[jt]s\0serve\0/.test(proc(pid, 'cmdline')))
  if (found[0] === undefined) throw new Error('npm start started no gateway')
  return found[0]
}

const proc = (pid: number, name: string): string => readFileSync(`/proc/${pid}/${name}`, 'latin1')

/** Sums a line of smaps_rollup over the gateway's process and its workers, in MiB. */
const mebibytes = (pid: number, line: 'Rss' | 'Pss' | 'Anonymous'): number =>
  processTree(pid).reduce((sum, id) => {
    const [, kib = 0] = new RegExp(`^${line}: +(\\d+) kB`, 'm').exec(proc(id, 'smaps_rollup')) ?? []
    return sum + Number(kib) / 1024
  }, 0)

const figures = ['start ms', 'start CPU ms', 'RSS MiB', 'PSS MiB', 'anonymous MiB', 'loaded RSS MiB', 'loaded peak MiB']
type Figures = Map<string, number[]>

const note = (to: Figures, found: Readonly<Record<string, number>>): void => {
  for (const [name, value] of Object.entries(found)) to.set(name, [...(to.get(name) ?? []), value])
}

const atRest = async (tree: string): Promise<Record<string, number>> => {
  const gateway = await npmStart(tree, async () => [])
  await sleep((rest ?? 0) * 1000)
  const { pid, ms, cpuMs } = gateway
  const memory = { 'RSS MiB': mebibytes(pid, 'Rss'), 'PSS MiB': mebibytes(pid, 'Pss') }
  const found = { 'start ms': ms, 'start CPU ms': cpuMs, ...memory, 'anonymous MiB': mebibytes(pid, 'Anonymous') }
  await gateway.stop()
  return found
}

const underLoad = (tree: string): Promise<Record<string, number>> =>
  withStage(readOptions([]), async ({ directory, load, upstreamPort }) => {
    const file = join(directory, 'gateway.yaml')
    const gateway = await npmStart(tree, async (port) => {
      await writeFile(file, gatewayFile(port) + behindEach(addresses(1), upstreamPort))
      return ['--config', file]
    })
    const { pid, port } = gateway
    resetPeak(pid)
    const { served, failed } = await load.run({ port, speaks: 'http' }, get, seconds ?? 0, 64)
    console.error(`${tree}: ${served} served, ${failed} failed`)
    const found = { 'loaded RSS MiB': mebibytes(pid, 'Rss'), 'loaded peak MiB': peakKiB(pid) / 1024 }
    await gateway.stop()
    return found
  })

const taken = new Map<string, Figures>(trees.map((tree) => [tree, new Map()]))
const turns = async (count: number, take: (tree: string) => Promise<Record<string, number>>): Promise<void> => {
  for (let round = 0; round <= count; round++) {
    for (let turn = 0; turn < trees.length; turn++) {
      const tree = trees[(round + turn) % trees.length] ?? projectRoot
      const found = await take(tree)
      console.error(round === 0 ? 'warm-up' : `round ${round}`, tree, JSON.stringify(found))
      if (round > 0) note(taken.get(tree) ?? new Map(), found)
    }
  }
}
await turns(rounds ?? 0, atRest)
await turns(loaded ?? 0, underLoad)

const [ours, theirs] = trees.map((tree) => taken.get(tree))
console.log(`npm start, ${rounds} starts each in turns, ${rest} s after the first 200; ${loaded} under 64 connections`)
console.log(`of GET for ${seconds} s. Medians (smallest to largest), the gateway's process and its children.\n`)
const rows = figures.flatMap((name) => {
  const own = ours?.get(name)
  if (own === undefined) return []
  const other = theirs?.get(name)
  const shares = other === undefined ? null : ratio(own, other)
  const share = shares === null ? '' : [shares.ratio, shares.low, shares.high].map((each) => each.toFixed(3)).join(' ')
  return [[name, shown(own), other === undefined ? '' : shown(other), share]]
})
console.log(table(['', 'this checkout', 'before', 'ratio, 95 % interval'], rows, 1))

function shown(values: readonly number[]): string {
  return `${median(values).toFixed(1)} (${Math.min(...values).toFixed(1)}–${Math.max(...values).toFixed(1)})`
}
