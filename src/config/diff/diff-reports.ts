import { allOperations, type Group, groups } from '../../operations.ts'
import type { Config } from '../config.ts'
import { formatKeyPath } from '../problem.ts'

/** Is a configuration as it may be shown to an operator, and compared with another one that may be shown. */
export interface ConfigReport {
  readonly hash: string
  /** In the shape of the file, secrets as `***`. */
  readonly config: { readonly [key: string]: unknown }
  /** The hash of each secret, by its key path. It tells that one has changed. */
  readonly digests: { readonly [path: string]: string }
}

/** Is one value that differs between two configurations. */
export interface ConfigChange {
  /** The part of the file: `upstreams.market`, `operations.market.insights`, `listen`. */
  readonly part: string
  /** The group that it concerns; null: all. */
  readonly group: Group | null
  /** The key path. */
  readonly path: string
  /** What it was; null: not set. Of a secret `***`, before and after. */
  readonly from: unknown
  readonly to: unknown
}

// More than an operator reads; what is compared and written with each reload has to have an end.
/** Most clients that are shown. */
export const maxShownClients = 100

/** Tells whether every client is shown: not those of other files, nor very many. */
export const showsClients = ({ clients, clientsSource: { parts } }: Config): boolean =>
  clients.length <= maxShownClients && parts.every(({ file }) => file === null)

/** Lists what differs, part by part in the order of the file. */
export const diffReports = (from: ConfigReport, to: ConfigReport): readonly ConfigChange[] => {
  const before = new Map(splitIntoParts(from.config).map((each) => [each.part, each]))
  const after = new Map(splitIntoParts(to.config).map((each) => [each.part, each]))
  const secrets = [...new Set([...Object.keys(from.digests), ...Object.keys(to.digests)])]
  const changedSecrets = secrets.filter((path) => ownValue(from.digests, path) !== ownValue(to.digests, path))
  // One of the two may be of a gateway of another version, which knows a part more or less.
  return [...new Map([...before, ...after]).values()].flatMap(({ part, path, group }): readonly ConfigChange[] => {
    const isChangedSecret = (key: string): boolean =>
      changedSecrets.some((path) => path === key || path.startsWith(`${key}[`))
    const changes = compare(path, before.get(part)?.value, after.get(part)?.value, isChangedSecret)
    return changes.map((change) => ({ part, group, ...change }))
  })
}

/** Lists the groups that changes concern; one of all of them concerns none in particular. */
export const changedGroups = (changes: readonly ConfigChange[]): readonly Group[] =>
  groups.filter((group) => changes.some((change) => change.group === group))

interface ConfigPart {
  readonly part: string
  readonly path: readonly string[]
  readonly group: Group | null
  readonly value: unknown
}

function splitIntoParts(tree: { readonly [key: string]: unknown }): readonly ConfigPart[] {
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

/** Compares map by map; a list is one value: whoever moves an endpoint has changed the list. `hidden` tells of a secret that differs. */
function compare(
  path: readonly string[],
  from: unknown,
  to: unknown,
  isChangedSecret: (path: string) => boolean,
): readonly { readonly path: string; readonly from: unknown; readonly to: unknown }[] {
  if (isMap(from) && isMap(to)) {
    return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((key) =>
      compare([...path, key], ownValue(from, key), ownValue(to, key), isChangedSecret),
    )
  }
  if (JSON.stringify(from) === JSON.stringify(to) && !isChangedSecret(formatKeyPath(path))) return []
  return [{ path: formatKeyPath(path), from: from ?? null, to: to ?? null }]
}

/** A field may be called `constructor`, and is then not what every object inherits. */
const ownValue = (map: { readonly [key: string]: unknown }, key: string): unknown =>
  Object.hasOwn(map, key) ? map[key] : undefined

const isMap = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
