import type { AuditOutput, FileSystemSize, OpenedAuditOutput } from '../../../src/features/audit/audit-output.ts'
import { genesis } from '../../../src/features/audit/chain/chain.ts'

/** An output in memory whose writes fail, are short, or wait. */
export class FakeAuditOutput implements AuditOutput {
  name = 'audit.log'
  rotateBytes: number | null = null
  isFull = false
  isUnlinked = false
  text = ''
  /** Free bytes; 0: a full disk. */
  room = Number.POSITIVE_INFINITY
  unsynced: string | null = null
  /** The output that `openNext` returns. */
  successor: FakeAuditOutput | null = null
  /** Writes wait until it resolves. */
  wait: Promise<void> = Promise.resolve()
  writes = 0
  /** The next measurement, once `measured` resolves. */
  disk: FileSystemSize | null = null
  measured: Promise<void> = Promise.resolve()
  measurements = 0
  isClosed = false
  onWrite: () => void = () => {}

  async isAt(): Promise<boolean> {
    return false
  }

  async append(bytes: Buffer): Promise<number> {
    this.writes++
    this.onWrite()
    await this.wait
    const taken = Math.min(bytes.length, this.room)
    if (taken === 0) throw new Error('ENOSPC: no space left on device, write')
    this.room -= taken
    this.text += bytes.toString('utf8', 0, taken)
    return taken
  }

  async sync(): Promise<void> {
    if (this.unsynced !== null) throw new Error(this.unsynced)
  }

  async measureDisk(): Promise<FileSystemSize | null> {
    this.measurements++
    await this.measured
    return this.disk
  }

  async openNext(): Promise<AuditOutput | null> {
    const next = this.successor
    this.successor = null
    return next
  }

  async close(): Promise<void> {
    this.isClosed = true
  }

  opened(): OpenedAuditOutput {
    return { output: this, link: genesis(), torn: null }
  }
}
