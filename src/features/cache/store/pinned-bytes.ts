import { sliceBytes } from '../../../core/lib/buffers.ts'
import type { StoredBody } from './stored-response.ts'

/**
 * Counts the memory of bodies that are still being sent but are no longer stored: a slow reader holds its body,
 * whatever has made room meanwhile. Bodies of up to 64 KiB are not counted.
 */
export class PinnedBytes {
  /** Bytes of bodies that are being sent and not stored. */
  bytes = 0

  onStored(body: StoredBody): void {
    if (body.storedCount++ === 0 && body.pins > 0) this.bytes -= body.bytes.length
  }

  onRemoved(body: StoredBody): void {
    if (--body.storedCount === 0 && body.pins > 0) this.bytes += body.bytes.length
  }

  /** Pins a body for one more reader; false: it is too short to be counted. */
  pin(body: StoredBody): boolean {
    // A client that does not read holds about that much of any response.
    if (body.bytes.length <= sliceBytes) return false
    if (body.pins++ === 0 && body.storedCount === 0) this.bytes += body.bytes.length
    return true
  }

  unpin(body: StoredBody): void {
    if (--body.pins === 0 && body.storedCount === 0) this.bytes -= body.bytes.length
  }
}
