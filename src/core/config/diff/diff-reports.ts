import { modesWithoutContract } from '../../../features/contract/check/compiled-contract.ts'
import { allOperations, type Group, groups } from '../../../operations.ts'
import type { Config } from '../config.ts'
import { type Digests, diffValues, toComparedValue, type ValueChange } from './diff-values.ts'

type ReportTree = { readonly [key: string]: unknown }

export interface ConfigReport {
  readonly hash: string
  /** In the shape of the file, secrets as `***`. */
  readonly config: ReportTree
  /** The hash of each secret and of the contract, by its key path: it shows that one has changed. */
  readonly digests: Digests
}

export interface ConfigChange extends ValueChange {
  /** The part of the file: `upstreams.market`, `operations.market.insights`, `listen`. */
  readonly part: string
  /** The group that it belongs to; null: all. */
  readonly group: Group | null
  /**
   * The value before; null: not set. A secret is `***`, before and after. A contract that has changed under the same
   * name has the start of its digest: `contract.yaml@1f0c9a7be2d4`.
   */
  readonly from: unknown
  readonly to: unknown
}

/** The largest number of clients in a report. An operator reads no more, and each reload compares and writes them. */
export const maxShownClients = 100

/** Tells whether a report shows every client: few enough, and all in the configuration file itself. */
export const showsClients = ({ clients, clientsSource: { parts } }: Config): boolean =>
  clients.length <= maxShownClients && parts.every((part) => part.file === null)

/** Lists what differs, part by part in the order of the file. */
export const diffReports = (from: ConfigReport, to: ConfigReport): readonly ConfigChange[] => {
  const [before, after] = [comparedParts(from), comparedParts(to)]
  // One of the two may be of another version of the gateway, with a part more or less.
  return [...new Map([...before, ...after]).values()].flatMap(({ part, path, group }): readonly ConfigChange[] =>
    diffValues(path, before.get(part)?.compared, after.get(part)?.compared)
      .filter((change) => !isInheritedMode(change, from.config, to.config))
      .map((change) => ({ part, group, ...change, ...contractDigests(change, from.digests, to.digests) })),
  )
}

const comparedParts = ({ config, digests }: ConfigReport) =>
  new Map(
    splitIntoParts(config).map((each) => [
      each.part,
      { ...each, compared: toComparedValue(each.value, each.path, digests) },
    ]),
  )

/** Tells whether the mode of an operation has only followed the contract's own, whose change is listed once. */
const isInheritedMode = ({ path, from, to }: ValueChange, ...trees: readonly [ReportTree, ReportTree]): boolean => {
  const key = /^operations\..+\.contract\.(.+)$/.exec(path)?.[1]
  if (key === undefined) return false
  const [before, after] = trees.map(({ contract }) => {
    const own = Object(contract)
    return Object(own.file === undefined ? modesWithoutContract : own)[key]
  })
  return from === before && to === after
}

/** Appends its digest to the name of a contract that has changed under the same name. */
const contractDigests = (
  { path, from, to }: ValueChange,
  before: ConfigReport['digests'],
  after: ConfigReport['digests'],
): Partial<ValueChange> =>
  path === 'contract.file' && from === to
    ? { from: `${from}@${before[path] ?? 'unknown'}`, to: `${to}@${after[path] ?? 'unknown'}` }
    : {}

/** Lists the groups that changes belong to. A change of all groups adds none. */
export const changedGroups = (changes: readonly ConfigChange[]): readonly Group[] =>
  groups.filter((group) => changes.some((change) => change.group === group))

interface ConfigPart {
  readonly part: string
  readonly path: readonly string[]
  readonly group: Group | null
  readonly value: unknown
}

/** Splits a configuration, as the file has it, into its parts: each group and each operation is one by itself. */
export function splitIntoParts(tree: { readonly [key: string]: unknown }): readonly ConfigPart[] {
  return Object.entries(tree).flatMap(([key, value]): readonly ConfigPart[] => {
    if (key !== 'upstreams' && key !== 'operations') return [{ part: key, path: [key], group: null, value }]
    return Object.entries(Object(value)).map(([name, part]) => ({
      part: `${key}.${name}`,
      path: [key, name],
      group: key === 'upstreams' ? (groups.find((group) => group === name) ?? null) : groupOfOperation(name),
      value: part,
    }))
  })
}

const groupOfOperation = (operation: string): Group | null =>
  allOperations.find(({ id }) => id === operation)?.group ?? null
