import type { OperationId } from '../../catalog.ts'
import type { ClientConfig } from '../../config/config.ts'
import { networks } from '../../shared/networks.ts'
import type { Claims } from './claims.ts'

/** Is a lender's system, as every request asks for it. */
export interface Client {
  readonly id: string
  readonly disabled: boolean
  /** Tells whether it may call an operation. */
  mayCall(operation: OperationId): boolean
  /** Tells whether it may call from an address. */
  mayComeFrom(address: string): boolean
}

/** Is a key, and whose it is. */
interface Key {
  readonly client: Client
  /** The SHA-256 of its secret half. */
  readonly digest: Buffer
}

/** Finds clients by what they show. */
export type Clients = ReturnType<typeof indexOf>

/** Is what tells a client from others, and what it may do; how much of it is another matter. */
type KnownClient = Omit<ClientConfig, 'rate' | 'burst' | 'concurrency'>

/** Is a client with its keys. */
interface Entry {
  readonly client: Client
  readonly keys: readonly (readonly [string, Key])[]
}

// What is frozen stays what it is: a reload goes on with the index of a list that is the very same, and with the entries of clients that are.
const indices = new WeakMap<readonly KnownClient[], Clients>()
const entries = new WeakMap<KnownClient, Entry>()

/** Makes the index of the clients, once a configuration; of frozen ones that were indexed before it is the same. */
export const clientsOf = (configs: readonly KnownClient[]): Clients => {
  const known = indices.get(configs)
  if (known !== undefined) return known
  const index = indexOf(configs)
  if (Object.isFrozen(configs)) indices.set(configs, index)
  return index
}

const indexOf = (configs: readonly KnownClient[]) => {
  const keys = new Map<string, Key>()
  const owners = new ClaimIndex<Client>()
  const certificates = new Map<string, Client>()
  for (const config of configs) {
    const { client, keys: own } = entryOf(config)
    for (const [id, key] of own) keys.set(id, key)
    owners.add(config.claims, client)
    for (const name of config.certificates) certificates.set(name, client)
  }
  return {
    byKey: (keyId: string): Key | undefined => keys.get(keyId),
    /** Finds whose a token is by what it says. */
    byClaims: (claims: Claims): Client | null => owners.find(claims),
    /** Finds whose a certificate is, by a name in it or its digest, as `clients` spells them. */
    byCertificate: (name: string): Client | undefined => certificates.get(name),
  }
}

const entryOf = (config: KnownClient): Entry => {
  const known = entries.get(config)
  if (known !== undefined) return known
  const client = clientOf(config)
  const keys = config.apiKeys.map(({ id, sha256 }) => [id, { client, digest: Buffer.from(sha256, 'hex') }] as const)
  const entry = { client, keys }
  if (Object.isFrozen(config)) entries.set(config, entry)
  return entry
}

const clientOf = ({ id, disabled, operations, addresses }: KnownClient): Client => {
  // Compiled when it first calls: of thousands of clients few do, and to compile them all would hold up a reload.
  let isInside: ReturnType<typeof networks> | null = null
  const isIn = (address: string): boolean => {
    isInside ??= networks(addresses)
    return isInside(address)
  }
  return {
    id,
    disabled,
    mayCall: (operation) => operations === null || operations.includes(operation),
    mayComeFrom: addresses.length === 0 ? anywhere : isIn,
  }
}

const anywhere = (): boolean => true

/** Is those who are known by the same claims: by `client_id`, or by `iss` and `sub`. */
interface Shelf<T> {
  readonly names: readonly string[]
  readonly owners: Map<string, T>
}

/** Finds owners by what tokens say, as fast with ten thousand as with ten. Who is known by more claims comes before who is known by fewer. */
export class ClaimIndex<T> {
  #shelves: readonly Shelf<T>[] = []

  /** Adds who is known by all of these; by none: nobody. */
  add(claims: Readonly<Record<string, string>>, owner: T): void {
    const names = Object.keys(claims).sort()
    const key = names.length === 0 ? null : keyOf(names, claims)
    if (key !== null) this.#shelf(names).owners.set(key, owner)
  }

  /** Finds whose claims these are; null: nobody's, or those of two who are known by as many: which of them is meant, nobody knows. */
  find(claims: Claims): T | null {
    let found: T | null = null
    let size = 0
    for (const { names, owners } of this.#shelves) {
      if (names.length < size) break
      const key = keyOf(names, claims)
      const owner = key === null ? undefined : owners.get(key)
      if (owner === undefined) continue
      if (found !== null) return null
      found = owner
      size = names.length
    }
    return found
  }

  #shelf(names: readonly string[]): Shelf<T> {
    const known = this.#shelves.find((shelf) => shelf.names.join() === names.join())
    if (known !== undefined) return known
    const shelf = { names, owners: new Map<string, T>() }
    this.#shelves = [...this.#shelves, shelf].sort((a, b) => b.names.length - a.names.length)
    return shelf
  }
}

/** Makes what is looked for; null: not all are there, as text. */
const keyOf = (names: readonly string[], claims: Claims): string | null => {
  const values = names.map((name) => (Object.hasOwn(claims, name) ? claims[name] : null))
  if (!values.every((value) => typeof value === 'string')) return null
  const [only] = values
  return values.length === 1 && only !== undefined ? only : JSON.stringify(values)
}
