/** Says what is edited where reloads are measured. */
import { stringify } from 'yaml'
import { addresses } from './addresses.ts'
import { apiKeyAuth, clientChecks, clientsList, keyField, keyOf } from './clients.ts'
import { behindEach } from './peers/gateway.ts'
import { get, type Workload } from './workload.ts'

/** A configuration, and the edits of it that are taken in turn. */
export interface ReloadCase {
  readonly name: string
  /** Says in a few words what each edit is. */
  readonly edits: readonly string[]
  /** How long a reload may take. */
  readonly atMostMs: number
  /** What is asked for meanwhile. */
  readonly workload: Workload
  /**
   * Writes what follows the listeners in the file, and the other files; `made` says how often each of the edits was
   * made.
   */
  readonly text: (made: readonly number[], upstreamPort: number) => string
  readonly files: (made: readonly number[]) => Readonly<Record<string, string>>
}

const endpoints = 50

/** Moves all groups between two sets of endpoints that have none in common. */
export const movedGroups: ReloadCase = {
  name: 'endpoints',
  edits: [`all groups are moved to ${endpoints} other endpoints each`],
  atMostMs: 100,
  workload: get,
  text: ([turn = 0], port) => behindEach(turn === 0 ? addresses(1) : addresses(endpoints, 1 + (turn % 2)), port),
  files: () => ({}),
}

const count = 10_000
const edited = 5

/** Edits what does not concern most of many clients, in a file of each format. */
const clientsIn = (file: string, atMostMs: number, write: (edited: readonly object[]) => string): ReloadCase => ({
  name: file,
  edits: [`${edited} of ${count} clients have another rate`, 'all groups are moved to another endpoint'],
  atMostMs,
  workload: { ...get, fields: { ...get.fields, [keyField]: keyOf(0) } },
  text: ([, turn = 0], port) => `${apiKeyAuth}clients: file:${file}\n${behindEach(addresses(1, 1 + (turn % 2)), port)}`,
  files: ([turn = 0]) => ({
    [file]: write(clientsList(edited, { ...clientChecks, rate: `${turn % 2 === 0 ? 1_000_000 : 900_000}/s` })),
  }),
})

/** The rest of them. */
const others = clientsList(count, clientChecks).slice(edited)
/** Takes a second, so it is done once. */
let othersInYaml: string | null = null

const inYaml = (clients: readonly object[]): string => stringify(clients, { aliasDuplicateObjects: false })

/** Takes each format in turn. */
export const manyClients: readonly ReloadCase[] = [
  clientsIn('clients.json', 200, (some) => JSON.stringify([...some, ...others])),
  clientsIn('clients.yaml', 2000, (some) => {
    othersInYaml ??= inYaml(others)
    return inYaml(some) + othersInYaml
  }),
]
