import type { StoredBody } from './stored.ts'

// So much waits for a client that does not read whatever it is answered with.
const leastBytes = 64 * 1024

/**
 * Counts the memory of bodies that clients are still being sent and that are no longer stored: whoever reads slowly holds on to it, whatever has
 * made room meanwhile. Those of up to 64 KiB are not counted.
 */
export class Lending {
  /** Bytes of bodies that are out and not stored. */
  bytes = 0

  /** Is told that a body is stored, in one more place. */
  kept(body: StoredBody): void {
    if (body.places++ === 0 && body.lent > 0) this.bytes -= body.bytes.length
  }

  /** Is told that a body is stored in one place less. */
  dropped(body: StoredBody): void {
    if (--body.places === 0 && body.lent > 0) this.bytes += body.bytes.length
  }

  /** Notes that a body is on its way to one client more, or several; false: it is too short to be counted. */
  lend(body: StoredBody): boolean {
    if (body.bytes.length <= leastBytes) return false
    if (body.lent++ === 0 && body.places === 0) this.bytes += body.bytes.length
    return true
  }

  /** Notes that they have it, or never will. */
  back(body: StoredBody): void {
    if (--body.lent === 0 && body.places === 0) this.bytes -= body.bytes.length
  }
}
