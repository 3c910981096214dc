/**
 * Measures what clients and the gateway have of copies for a candidate, however bad it is: GETs at a fixed rate, all of
 * them copied, against a gateway without a candidate. `node tools/bench/shadow.ts [--rounds N] [--rate N] [--seconds N]
 * [--only A,B]`.
 */
import { freePort } from '../../test/helpers/free-port.ts'
import { program } from '../../test/helpers/program.ts'
import { addresses } from './addresses.ts'
import { type Contender, resetContender } from './contender.ts'
import { connectionsFor, rateLoad } from './h2load.ts'
import { readOptions } from './options.ts'
import { behindEach, gatewayFile } from './peers/gateway.ts'
import { projectRoot, serveTree } from './peers/gateway-tree.ts'
import type { Peer } from './peers/peer.ts'
import { machine } from './report.ts'
import { takeRounds } from './rounds.ts'
import { candidateWays } from './shadow-candidate.ts'
import { startSideServer } from './side-server.ts'
import { withStage } from './stage.ts'
import { byRound, type Interval, median } from './stats.ts'
import { table } from './table.ts'
import { get } from './workload.ts'

const alone = 'no candidate'

/** A candidate, and what the file says of its shadow. */
interface Case {
  /** How it behaves; null: none listens. */
  readonly way: string | null
  readonly shadow: string
}

const copyAll = 'sample: 100%'

/** What is compared with {@link alone}, which stands here twice: the second shows how much is noise. */
const cases: Readonly<Record<string, Case | null>> = {
  'no candidate again': null,
  'sample 0%': { way: null, shadow: 'sample: 0%' },
  'responds uncompared': { way: 'responds', shadow: `${copyAll}, compare: none` },
  ...Object.fromEntries(Object.keys(candidateWays).map((way) => [way, { way, shadow: copyAll }])),
  'differs with noise': { way: 'differs', shadow: `${copyAll}, compare: { noise: true }` },
  refuses: { way: null, shadow: copyAll },
}

const options = readOptions(process.argv.slice(2))
const rate = typeof options.rate === 'number' ? options.rate : 400

const candidateText = (name: string, port: number): string =>
  cases[name] == null ? '' : `candidate: { endpoints: ["http://127.0.0.1:${port}"], shadow: { ${cases[name].shadow} } }`

interface Shadow {
  readonly sent: number
  readonly dropped: Readonly<Record<string, number>>
}

/** Reads what became of copies for the group of the load. */
const readShadow = async (adminPort: number): Promise<Shadow | null> => {
  const response = await fetch(`http://127.0.0.1:${adminPort}/status`)
  const { upstreams } = (await response.json()) as {
    readonly upstreams: Readonly<Record<string, { readonly candidate: { readonly shadow: Shadow } | null }>>
  }
  return upstreams[get.operation.group]?.candidate?.shadow ?? null
}

const signed = ({ middle, low, high }: Interval, digits: number): string => {
  const [first, second, third] = [middle, low, high].map((value) => `${value > 0 ? '+' : ''}${value.toFixed(digits)}`)
  return `${first} (${second} … ${third})`
}

await withStage(options, async (stage) => {
  const h2load = await program('h2load')
  if (h2load.missing !== null) throw new Error(h2load.missing)
  const adminPorts = new Map<string, number>()
  const names = [alone, ...Object.keys(cases)].filter(
    (name) => name === alone || (options.only?.includes(name) ?? true),
  )
  const peers: Peer[] = []
  for (const name of names) {
    const way = cases[name]?.way ?? null
    const candidate = way === null ? null : await startSideServer('shadow-candidate.ts', way)
    if (candidate !== null) stage.atEnd(candidate.stop)
    const port = candidate?.port ?? (await freePort())
    const adminPort = await freePort()
    adminPorts.set(name, adminPort)
    peers.push({
      name: name.replaceAll(/\W+/g, '-'),
      description: name,
      onRequest: false,
      start: (site) =>
        serveTree(
          projectRoot,
          site,
          (own) =>
            gatewayFile(own, { adminPort }) + behindEach(addresses(1), site.upstreamPort, candidateText(name, port)),
        ),
    })
  }
  const { contenders, absent } = await stage.startPeers(peers, [get])
  for (const { peer, problems } of absent) throw new Error(`${peer}: ${problems.join(', ')}`)
  const load = rateLoad(h2load.path, stage.directory, rate)
  const taking = contenders.map((each) => resetContender(each, { load, connections: connectionsFor(rate) }))
  await takeRounds(taking, [get], load, options)
  const samplesOf = ({ samples }: Contender) => samples.get(get.name) ?? []
  const [baseline] = taking
  if (baseline === undefined) throw new Error('nothing was measured')
  const rows: string[][] = []
  for (const contender of taking) {
    const [own, theirs] = [samplesOf(contender), samplesOf(baseline)]
    const more = (of: 'cpuUs' | 'p99Ms', digits: number): string =>
      contender === baseline
        ? ''
        : signed(
            byRound(
              own.map((each) => each[of]),
              theirs.map((each) => each[of]),
              (our, their) => our - their,
            ),
            digits,
          )
    const shadow = await readShadow(adminPorts.get(contender.description) ?? 0)
    const dropped = Object.values(shadow?.dropped ?? {}).reduce((sum, count) => sum + count, 0)
    rows.push([
      contender.description,
      median(own.map(({ cpuUs }) => cpuUs)).toFixed(0),
      more('cpuUs', 0),
      median(own.map(({ p99Ms }) => p99Ms)).toFixed(2),
      more('p99Ms', 2),
      String(own.reduce((sum, { failed }) => sum + failed, 0)),
      shadow === null ? '' : `${shadow.sent}`,
      shadow === null ? '' : `${dropped}`,
    ])
    for (const problem of contender.problems) console.error(`${contender.description}: ${problem}`)
  }
  const head = ['candidate', 'CPU µs', 'more', 'p99 ms', 'more', 'failed', 'copies', 'not sent']
  console.log(`${new Date().toISOString()}; ${machine()}
${rate} GETs/s, ${options.rounds} rounds of ${options.seconds} s; in brackets the 95 % interval over rounds
${table(head, rows, 1)}`)
})
