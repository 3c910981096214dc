/** Clients of other makes and all floods at one gateway: `--http2`. `HTTP2_CODEC=node` takes the codec of Node. */
import { setTimeout as pause } from 'node:timers/promises'
import { configText } from '../../../test/helpers/gateway.ts'
import { listenHttp2 } from '../../../test/helpers/http2.ts'
import { cpuBetween, readCpu } from '../../bench/cpu.ts'
import { type SoakedGateway, startGateway } from '../gateway.ts'
import { countComplaints, isQuiet, type StoppedGateway, stopGateway } from '../long-run.ts'
import { type Sample, sampleAll, sampling } from '../series.ts'
import { settled } from '../settled.ts'
import { type Ongoing, ongoing } from '../traffic.ts'
import { asking, type SteadyClient, startClients, writeBodies } from './clients.ts'
import { type FloodCount, floodCounts, flooding } from './floods.ts'
import { openUpstream } from './upstream.ts'

export interface Http2Run extends StoppedGateway {
  readonly minutes: number
  readonly clients: readonly SteadyClient[]
  readonly floods: Readonly<Record<string, FloodCount>>
  /** Those that the gateway says it has applied. */
  readonly edits: number
  /** By reason, as the metrics of the gateway say. */
  readonly rejections: Readonly<Record<string, number>>
  readonly samples: readonly Sample[]
  readonly loadMs: number
  /** CPU time of the gateway, and of all processes here with it, in cores. */
  readonly gatewayCores: number
  readonly allCores: number
}

const warmUpMs = 30_000
const editEveryMs = 30_000

/** Soaks a gateway. */
export const soakHttp2 = async (minutes: number): Promise<Http2Run> => {
  const ends: (() => void)[] = []
  const onEnd = (end: () => void): void => void ends.unshift(end)
  const bodies = writeBodies(onEnd)
  const upstreams = await Promise.all([openUpstream(), openUpstream()])
  for (const { close } of upstreams) onEnd(close)
  const configurations = upstreams.map(({ url }) => configuration(url))
  const gateway = await startGateway(configurations[0] as string)
  const complaints = countComplaints(gateway)
  const { onLine } = gateway
  let edits = 0
  gateway.onLine = (line) => {
    if (line.msg === 'configuration applied') edits++
    onLine(line)
  }
  try {
    const clients = await startClients(onEnd)
    const floods = floodCounts()
    let saved = 0
    const load = async (during: () => Promise<void>): Promise<void> => {
      const going: readonly Ongoing[] = [
        asking(gateway.port, clients, bodies),
        flooding(gateway.port, floods),
        ongoing(1, editEveryMs, async () => gateway.edit(configurations[++saved % 2] as string)),
      ]
      await during()
      await Promise.all(going.map((each) => each.stop()))
    }
    await load(() => pause(warmUpMs))
    const before = await settled(() => sampleAll(gateway, 0), isQuiet(1))
    const samples: Sample[] = []
    const from = performance.now()
    const cpu = [readCpu(gateway.pid), readCpu(process.pid)] as const
    const coresOf = (nth: 0 | 1, pid: number): number => cpuBetween(cpu[nth], readCpu(pid)) / 1e6 / loadMs
    let loadMs = 0
    let cores = { gatewayCores: 0, allCores: 0 }
    // Slow floods take longer to end than the samples do.
    await load(async () => {
      const taking = sampling(gateway, samples, from)
      await pause(minutes * 60_000)
      await taking.stop()
      loadMs = performance.now() - from
      cores = { gatewayCores: coresOf(0, gateway.pid), allCores: coresOf(1, process.pid) }
    })
    const rejections = await readRejections(gateway)
    const stopped = await stopGateway(gateway, before, complaints)
    return { ...stopped, minutes, clients, floods, edits, rejections, samples, loadMs, ...cores }
  } finally {
    for (const end of ends) end()
    await gateway.stop()
  }
}

// Shorter than the defaults, so that slow floods come often, and what idles is gone when what is left is counted.
const configuration = (upstream: string): string =>
  configText({
    upstream,
    listen: { ...listenHttp2(), minRate: '1KiB/s', timeouts: { headers: '10s', body: '10s', keepAlive: '30s' } },
    defaults: { deadline: 'none', timeouts: { connect: '10s', headers: '30s', body: '60s' } },
    reload: {},
  })

const readRejections = async ({ admin }: SoakedGateway): Promise<Readonly<Record<string, number>>> => {
  const metrics = await (await fetch(`${admin}/metrics`)).text()
  const found = metrics.matchAll(/_rejections_total\{reason="(.*)"\} ([1-9]\d*)/g)
  return Object.fromEntries([...found].map(([, reason = '', times]) => [reason, Number(times)]))
}
