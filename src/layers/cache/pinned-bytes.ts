import type { StoredBody } from './stored-response.ts'

// So much waits for a client that does not read whatever it is answered with.
const minPinnedBytes = 64 * 1024

/**
 * Counts the memory of bodies that clients are still being sent and that are no longer stored: whoever reads slowly holds on to it, whatever has
 * made room meanwhile. Those of up to 64 KiB are not counted.
 */
export class PinnedBytes {
  /** Bytes of bodies that are out and not stored. */
  bytes = 0

  /** Is told that a body is stored, in one more place. */
  onStored(body: StoredBody): void {
    if (body.storedCount++ === 0 && body.pins > 0) this.bytes -= body.bytes.length
  }

  /** Is told that a body is stored in one place less. */
  onRemoved(body: StoredBody): void {
    if (--body.storedCount === 0 && body.pins > 0) this.bytes += body.bytes.length
  }

  /** Notes that a body is on its way to one client more, or several; false: it is too short to be counted. */
  pin(body: StoredBody): boolean {
    if (body.bytes.length <= minPinnedBytes) return false
    if (body.pins++ === 0 && body.storedCount === 0) this.bytes += body.bytes.length
    return true
  }

  /** Notes that they have it, or never will. */
  unpin(body: StoredBody): void {
    if (--body.pins === 0 && body.storedCount === 0) this.bytes -= body.bytes.length
  }
}
