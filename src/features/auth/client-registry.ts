import { frozenMemo } from '../../core/lib/memo.ts'
import { cidrMatcher } from '../../core/lib/net/addresses.ts'
import type { OperationId } from '../../operations.ts'
import type { ClientConfig } from './clients/config.ts'
import type { Claims } from './tokens/claims.ts'

export interface RegisteredClient {
  readonly id: string
  readonly disabled: boolean
  mayCall(operation: OperationId): boolean
  mayCallFrom(address: string): boolean
}

type ApiKeyEntry = ReturnType<typeof getEntry>['keys'][number][1]

export type ClientRegistry = ReturnType<typeof getClientRegistry>

type ClientAccessConfig = Omit<ClientConfig, 'rate' | 'burst' | 'concurrency'>

/** A reload reuses the index of an unchanged list, and entries of unchanged clients. */
export const getClientRegistry = frozenMemo((configs: readonly ClientAccessConfig[]) => {
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
    byClaims: (claims: Claims): RegisteredClient | null => owners.find(claims),
    /** `name`: an alternative name or a fingerprint, as written in `clients`. */
    byCertificate: (name: string): RegisteredClient | undefined => certificates.get(name),
  }
})

const getEntry = frozenMemo(({ id, disabled, operations, addresses, apiKeys }: ClientAccessConfig) => {
  // Compiled at the first request: few of thousands of clients call, and compiling all would delay a reload.
  let isInside: ReturnType<typeof cidrMatcher> | null = null
  const isIn = (address: string): boolean => {
    isInside ??= cidrMatcher(addresses)
    return isInside(address)
  }
  const client: RegisteredClient = {
    id,
    disabled,
    mayCall: (operation) => operations === null || operations.includes(operation),
    mayCallFrom: addresses.length === 0 ? fromAnywhere : isIn,
  }
  const keys = apiKeys.map((key) => [key.id, { client, digest: Buffer.from(key.sha256, 'hex') }] as const)
  return { client, keys }
})

const fromAnywhere = (): boolean => true

/** Finds owners by a token's claims in constant time. Owners with more claims are tried first. */
export class ClaimIndex<T> {
  /** One group for each set of claim names, such as `client_id`, or `iss` and `sub`. */
  #groups: readonly { readonly names: readonly string[]; readonly owners: Map<string, T> }[] = []

  add(claims: Readonly<Record<string, string>>, owner: T): void {
    const names = Object.keys(claims).sort()
    const key = names.length === 0 ? null : claimKey(names, claims)
    if (key === null) return
    const known = this.#groups.find((group) => group.names.join() === names.join())
    if (known !== undefined) return void known.owners.set(key, owner)
    const added = [...this.#groups, { names, owners: new Map([[key, owner]]) }]
    this.#groups = added.sort((a, b) => b.names.length - a.names.length)
  }

  /** Null: no owner, or two with equally many claims. */
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
}

const claimKey = (names: readonly string[], claims: Claims): string | null => {
  const values = names.map((name) => (Object.hasOwn(claims, name) ? claims[name] : null))
  if (!values.every((value) => typeof value === 'string')) return null
  const [only] = values
  return values.length === 1 && only !== undefined ? only : JSON.stringify(values)
}
