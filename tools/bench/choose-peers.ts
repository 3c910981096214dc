/** Finds what the command line names. */
import type { Options } from './options.ts'
import { peers } from './peers/all.ts'
import { gatewayBefore, gatewayCacheBefore } from './peers/gateway.ts'
import type { Peer } from './peers/peer.ts'
import { type Workload, workloads } from './workload.ts'

/** Lists the peers that take part. A tree that is named does, whatever --only says. */
export const choosePeers = ({ only, before: tree }: Options): readonly Peer[] => {
  const named = only ?? usual(peers)
  return choose(
    'peers',
    peers,
    tree === null || named.includes(gatewayCacheBefore.name) ? named : [...named, gatewayBefore.name],
  )
}

export const chooseWorkloads = ({ workloads: names, all }: Options): readonly Workload[] =>
  all ? workloads : choose('workloads', workloads, names ?? usual(workloads))

interface Choice {
  readonly name: string
  readonly onRequest: boolean
}

const usual = (all: readonly Choice[]): readonly string[] =>
  all.filter(({ onRequest }) => !onRequest).map(({ name }) => name)

const choose = <Chosen extends Choice>(
  kind: string,
  all: readonly Chosen[],
  names: readonly string[],
): readonly Chosen[] => {
  const unknown = names.filter((name) => !all.some((each) => each.name === name))
  if (unknown.length > 0) throw new Error(`unknown ${kind}: ${unknown.join(', ')}`)
  return all.filter(({ name }) => names.includes(name))
}
