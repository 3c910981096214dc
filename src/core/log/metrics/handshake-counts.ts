/** Names of key-exchange groups by their number, as IANA's TLS Supported Groups has both. */
const groupNames: ReadonlyMap<number, string> = new Map([
  [4588, 'X25519MLKEM768'],
  [29, 'x25519'],
  [23, 'secp256r1'],
  [30, 'x448'],
  [24, 'secp384r1'],
  [25, 'secp521r1'],
])

/** The groups that are counted by name, and `other`. */
export const keyExchangeGroups: readonly string[] = [...groupNames.values(), 'other']

/** The versions of TLS that clients may speak. */
export const tlsVersions: readonly string[] = ['TLSv1.3', 'TLSv1.2']

export class HandshakeCounts {
  readonly #counts = new Map<string, { readonly version: string; readonly group: string; count: number }>()

  count(version: string, groupNumber: number): void {
    const group = groupNames.get(groupNumber) ?? 'other'
    const key = `${version} ${group}`
    const found = this.#counts.get(key)
    if (found === undefined) this.#counts.set(key, { version, group, count: 1 })
    else found.count++
  }

  get report() {
    return [...this.#counts.values()].map((each) => ({ ...each }))
  }
}
