import { hash } from 'node:crypto'
import type { Claim } from '../../../src/features/idempotency/store/idempotency-store.ts'

const digest = (text: string): string => hash('sha256', text, 'base64url')

let nth = 0

/** Makes a claim of a key that no other test has, unless it says so. */
export const createClaim = (more: Partial<Claim> = {}): Claim => {
  nth++
  const { client = digest(`client ${nth}`) } = more
  return {
    ...{ client, share: client, name: digest(`name ${nth}`), token: `token-${nth}`, requestId: `r-${nth}` },
    ...{ fingerprint: 'f-1', ttlMs: 3_600_000, leaseMs: 600_000, takesOver: false, maxKeys: 1000 },
    ...more,
  }
}

/** Makes another claim of the same key: another request. */
export const repeatClaim = (
  { client, share, name, ttlMs, leaseMs, maxKeys }: Claim,
  more: Partial<Claim> = {},
): Claim => createClaim({ client, share, name, ttlMs, leaseMs, maxKeys, ...more })
