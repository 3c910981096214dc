import type { OperationId } from '../../catalog.ts'
import type { ClientConfig } from '../../config/auth-config.ts'
import { networks } from '../../shared/networks.ts'
import { ClaimIndex } from './claim-index.ts'
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
export interface Clients {
  byKey(keyId: string): Key | undefined
  /** Finds whose a token is by what it says. */
  byClaims(claims: Claims): Client | null
  /** Finds whose a certificate is, by a name in it or its digest, as `clients` spells them. */
  byCertificate(name: string): Client | undefined
}

/** Is what tells a client from others, and what it may do; how much of it is another matter. */
type KnownClient = Omit<ClientConfig, 'rate' | 'concurrency'>

/** Makes the index of the clients, once a configuration. */
export const clientsOf = (configs: readonly KnownClient[]): Clients => {
  const keys = new Map<string, Key>()
  const owners = new ClaimIndex<Client>()
  const certificates = new Map<string, Client>()
  for (const config of configs) {
    const client = clientOf(config)
    for (const { id, sha256 } of config.apiKeys) keys.set(id, { client, digest: Buffer.from(sha256, 'hex') })
    owners.add(config.claims, client)
    for (const name of config.certificates) certificates.set(name, client)
  }
  return {
    byKey: (keyId) => keys.get(keyId),
    byClaims: (claims) => owners.find(claims),
    byCertificate: (name) => certificates.get(name),
  }
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
