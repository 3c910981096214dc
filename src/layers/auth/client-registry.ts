import type { ClientConfig } from '../../config/config.ts'
import type { OperationId } from '../../operations.ts'
import { cidrMatcher } from '../../shared/cidr.ts'
import type { Claims } from './claims.ts'

/** Is a lender's system, as every request asks for it. */
export interface RegisteredClient {
  readonly id: string
  readonly disabled: boolean
  /** Tells whether it may call an operation. */
  mayCall(operation: OperationId): boolean
  /** Tells whether it may call from an address. */
  mayCallFrom(address: string): boolean
}

/** Is a key, and whose it is. */
interface ApiKeyEntry {
  readonly client: RegisteredClient
  /** The SHA-256 of its secret half. */
  readonly digest: Buffer
}

/** Finds clients by what they show. */
export type ClientRegistry = ReturnType<typeof buildRegistry>

/** Is what tells a client from others, and what it may do; how much of it is another matter. */
type ClientAccessConfig = Omit<ClientConfig, 'rate' | 'burst' | 'concurrency'>

/** Is a client with its keys. */
interface ClientEntry {
  readonly client: RegisteredClient
  readonly keys: readonly (readonly [string, ApiKeyEntry])[]
}

// What is frozen stays what it is: a reload goes on with the index of a list that is the very same, and with the entries of clients that are.
const registries = new WeakMap<readonly ClientAccessConfig[], ClientRegistry>()
const entries = new WeakMap<ClientAccessConfig, ClientEntry>()

/** Makes the index of the clients, once a configuration; of frozen ones that were indexed before it is the same. */
export const getClientRegistry = (configs: readonly ClientAccessConfig[]): ClientRegistry => {
  const cached = registries.get(configs)
  if (cached !== undefined) return cached
  const registry = buildRegistry(configs)
  if (Object.isFrozen(configs)) registries.set(configs, registry)
  return registry
}

const buildRegistry = (configs: readonly ClientAccessConfig[]) => {
  const keys = new Map<string, ApiKeyEntry>()
  const owners = new ClaimIndex<RegisteredClient>()
  const certificates = new Map<string, RegisteredClient>()
  for (const config of configs) {
    const { client, keys: own } = getEntry(config)
    for (const [id, key] of own) keys.set(id, key)
    owners.add(config.claims, client)
    for (const name of config.certificates) certificates.set(name, client)
  }
  return {
    byKey: (keyId: string): ApiKeyEntry | undefined => keys.get(keyId),
    /** Finds whose a token is by what it says. */
    byClaims: (claims: Claims): RegisteredClient | null => owners.find(claims),
    /** Finds whose a certificate is, by a name in it or its digest, as `clients` spells them. */
    byCertificate: (name: string): RegisteredClient | undefined => certificates.get(name),
  }
}

const getEntry = (config: ClientAccessConfig): ClientEntry => {
  const cached = entries.get(config)
  if (cached !== undefined) return cached
  const client = createClient(config)
  const keys = config.apiKeys.map(({ id, sha256 }) => [id, { client, digest: Buffer.from(sha256, 'hex') }] as const)
  const entry = { client, keys }
  if (Object.isFrozen(config)) entries.set(config, entry)
  return entry
}

const createClient = ({ id, disabled, operations, addresses }: ClientAccessConfig): RegisteredClient => {
  // Compiled when it first calls: of thousands of clients few do, and to compile them all would hold up a reload.
  let isInside: ReturnType<typeof cidrMatcher> | null = null
  const isIn = (address: string): boolean => {
    isInside ??= cidrMatcher(addresses)
    return isInside(address)
  }
  return {
    id,
    disabled,
    mayCall: (operation) => operations === null || operations.includes(operation),
    mayCallFrom: addresses.length === 0 ? fromAnywhere : isIn,
  }
}

const fromAnywhere = (): boolean => true

/** Is those who are known by the same claims: by `client_id`, or by `iss` and `sub`. */
interface ClaimGroup<T> {
  readonly names: readonly string[]
  readonly owners: Map<string, T>
}

/** Finds owners by what tokens say, as fast with ten thousand as with ten. Who is known by more claims comes before who is known by fewer. */
export class ClaimIndex<T> {
  #groups: readonly ClaimGroup<T>[] = []

  /** Adds who is known by all of these; by none: nobody. */
  add(claims: Readonly<Record<string, string>>, owner: T): void {
    const names = Object.keys(claims).sort()
    const key = names.length === 0 ? null : claimKey(names, claims)
    if (key !== null) this.#groupFor(names).owners.set(key, owner)
  }

  /** Finds whose claims these are; null: nobody's, or those of two who are known by as many: which of them is meant, nobody knows. */
  find(claims: Claims): T | null {
    let found: T | null = null
    let size = 0
    for (const { names, owners } of this.#groups) {
      if (names.length < size) break
      const key = claimKey(names, claims)
      const owner = key === null ? undefined : owners.get(key)
      if (owner === undefined) continue
      if (found !== null) return null
      found = owner
      size = names.length
    }
    return found
  }

  #groupFor(names: readonly string[]): ClaimGroup<T> {
    const cached = this.#groups.find((group) => group.names.join() === names.join())
    if (cached !== undefined) return cached
    const group = { names, owners: new Map<string, T>() }
    this.#groups = [...this.#groups, group].sort((a, b) => b.names.length - a.names.length)
    return group
  }
}

/** Makes what is looked for; null: not all are there, as text. */
const claimKey = (names: readonly string[], claims: Claims): string | null => {
  const values = names.map((name) => (Object.hasOwn(claims, name) ? claims[name] : null))
  if (!values.every((value) => typeof value === 'string')) return null
  const [only] = values
  return values.length === 1 && only !== undefined ? only : JSON.stringify(values)
}
