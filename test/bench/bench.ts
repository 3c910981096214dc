/**
 * Compares the gateway with other proxies in one run on one machine: each in a process of its own in front of the same upstream,
 * taking turns round by round. Prints a table; no timed test, so its exit code tells only whether the gateway could be measured.
 */
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chooseLoad, type Load } from './load.ts'
import { measure, type Sample } from './measure.ts'
import { type Options, readOptions, usage } from './options.ts'
import { bare, bareDirect } from './peers/bare.ts'
import { before, gateway, policies } from './peers/gateway.ts'
import { haproxy } from './peers/haproxy.ts'
import { nginx } from './peers/nginx.ts'
import type { Peer } from './peers/peer.ts'
import { killAll, type Running, start, stop } from './process.ts'
import { compare, machine, type PeerNote, type Report, type Series } from './report.ts'
import { render } from './table.ts'
import { verify } from './verify.ts'
import { type Workload, workloads } from './workload.ts'

const peers: readonly Peer[] = [gateway, before, policies, bare, bareDirect, nginx, haproxy]

/** Holds a peer that serves, with what was found wrong about it and what was measured so far. */
interface Contender {
  readonly peer: Peer
  readonly running: Running
  readonly problems: string[]
  readonly samples: Map<string, Sample[]>
}

const main = async (): Promise<void> => {
  const { options, chosen, asked } = parse()
  const directory = await mkdtemp(join(tmpdir(), 'bench-'))
  const stops: (() => Promise<void>)[] = []
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  try {
    const load = await chooseLoad(options.load, directory)
    const upstreamPort = await startUpstream(stops)
    const absent: PeerNote[] = []
    const contenders: Contender[] = []
    for (const peer of chosen) {
      const found = await enter(peer, { upstreamPort, directory: join(directory, peer.name), options }, asked)
      if ('running' in found) {
        contenders.push(found)
        stops.push(found.running.stop)
      } else absent.push(found)
    }
    await run(contenders, asked, load, options)
    const report = conclude(contenders, absent, asked, load, options)
    console.log(render(report))
    if (options.json !== null) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`)
    const ours = report.peers.find(({ peer }) => peer === gateway.name)
    process.exitCode = ours === undefined || ours.problems.length === 0 ? 0 : 1
  } finally {
    await Promise.all(stops.map((each) => each()))
  }
}

interface Task {
  readonly options: Options
  readonly chosen: readonly Peer[]
  readonly asked: readonly Workload[]
}

const parse = (): Task => {
  try {
    const options = readOptions(process.argv.slice(2))
    const usual = peers.filter(({ onRequest }) => !onRequest).map(({ name }) => name)
    return {
      options,
      // A tree that is named takes part, whatever --only says.
      chosen: choose('peers', peers, [...(options.only ?? usual), ...(options.before === null ? [] : [before.name])]),
      asked: choose('workloads', workloads, options.workloads ?? workloads.map(({ name }) => name)),
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

const choose = <Named extends { readonly name: string }>(
  kind: string,
  all: readonly Named[],
  names: readonly string[],
): readonly Named[] => {
  const unknown = names.filter((name) => !all.some((each) => each.name === name))
  if (unknown.length > 0) throw new Error(`unknown ${kind}: ${unknown.join(', ')}`)
  return all.filter(({ name }) => names.includes(name))
}

const startUpstream = async (stops: (() => Promise<void>)[]): Promise<number> => {
  const child = await start({ path: process.execPath, args: [join(import.meta.dirname, 'upstream.ts')] }, [
    'ignore',
    'pipe',
    'inherit',
  ])
  stops.push(() => stop(child))
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (line) => resolve(Number(line)))
    child.once('exit', () => reject(new Error('the upstream did not start')))
  })
}

/** Starts a peer and checks its answers. */
const enter = async (
  peer: Peer,
  site: Parameters<Peer['start']>[0],
  asked: readonly Workload[],
): Promise<Contender | PeerNote> => {
  await mkdir(site.directory)
  const note = (problem: string): PeerNote => ({
    peer: peer.name,
    description: peer.description,
    problems: [problem],
  })
  try {
    const running = await peer.start(site)
    if ('missing' in running) return note(running.missing)
    const problems = await verify(running, asked).catch((error: unknown) => [String(error)])
    return { peer, running, problems: [...problems], samples: new Map() }
  } catch (error) {
    return note(String(error))
  }
}

/** Takes the rounds. A peer whose answers are wrong takes no turn. The first of a round moves on by one each time. */
const run = async (
  contenders: readonly Contender[],
  asked: readonly Workload[],
  load: Load,
  options: Options,
): Promise<void> => {
  const able = contenders.filter(({ problems }) => problems.length === 0)
  for (let round = 0; round <= options.rounds; round++) {
    for (const workload of asked) {
      for (let turn = 0; turn < able.length; turn++) {
        const contender = able[(round + turn) % able.length]
        if (contender === undefined) continue
        const sample = await measure(contender.running, workload, load, options)
        progress(round, workload, contender, sample)
        if (round > 0) record(contender, workload, sample, options.connections)
      }
    }
  }
}

const record = ({ samples, problems }: Contender, { name }: Workload, sample: Sample, connections: number): void => {
  samples.set(name, [...(samples.get(name) ?? []), sample])
  if (sample.failed > 0) problems.push(`${name}: ${sample.failed} requests failed under load`)
  // What is in flight when the load ends is logged and not counted; a log that is off or drops lines is off by more.
  if (Math.abs(sample.logLines - 1) > 0.02 + connections / sample.served)
    problems.push(`${name}: ${sample.logLines.toFixed(3)} log lines a request`)
}

const progress = (round: number, workload: Workload, { peer }: Contender, { cpuUs, served }: Sample): void => {
  const when = round === 0 ? 'warm-up' : `round ${round}`
  console.error(`${when} ${workload.name} ${peer.name}: ${cpuUs.toFixed(1)} µs a request, ${served} served`)
}

const conclude = (
  contenders: readonly Contender[],
  absent: readonly PeerNote[],
  asked: readonly Workload[],
  load: Load,
  options: Options,
): Report => {
  const series = asked.flatMap(({ name }): readonly Series[] =>
    contenders.flatMap(({ peer, samples }) => {
      const taken = samples.get(name)
      return taken === undefined ? [] : [{ workload: name, peer: peer.name, samples: taken }]
    }),
  )
  const notes = contenders.map(({ peer, problems }) => ({
    peer: peer.name,
    description: peer.description,
    problems,
  }))
  const everyone = peers.flatMap(({ name }) => [...notes, ...absent].filter(({ peer }) => peer === name))
  return {
    date: new Date().toISOString(),
    machine: machine(),
    load: load.name,
    options,
    peers: everyone,
    series,
    comparisons: compare(series, everyone),
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killAll()
    process.exit(130)
  })
}

await main()
