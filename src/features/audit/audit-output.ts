import type { ChainPosition } from './chain/chain.ts'

/** The size of a file system, and how much of it the gateway's user may still fill. */
export interface FileSystemSize {
  readonly freeBytes: number
  readonly sizeBytes: number
}

/** A destination of lines, written one batch after another. */
export interface AuditOutput {
  /** The destination as the configuration names it. */
  name: string
  /** The size from which it is full; null: never. */
  rotateBytes: number | null
  /** Whether it is full, so that {@link openNext} is due. */
  readonly isFull: boolean
  /** Whether the file was removed: appended bytes would be lost, so none are appended, and {@link openNext} is due. */
  readonly isUnlinked: boolean
  /** Tells whether a path leads to this file, by whatever spelling or symbolic link. */
  isAt(path: string): Promise<boolean>
  /** Appends bytes, perhaps not all, and resolves with how many. Rejects when it took none. */
  append(bytes: Buffer): Promise<number>
  /** Makes the appended bytes survive a crash of the machine. */
  sync(): Promise<void>
  /** Measures the file system of the file; null: it is none, or does not tell. */
  measureDisk(): Promise<FileSystemSize | null>
  /** Opens the output of the next lines; null: this one still. The caller then closes this one. */
  openNext(lastNumber: number): Promise<AuditOutput | null>
  close(): Promise<void>
}

export interface OpenedAuditOutput {
  readonly output: AuditOutput
  readonly link: ChainPosition
  /** Bytes after its last line that form no line. */
  readonly torn: Buffer | null
}

/** The queue of the main log, which lines for standard output go through. Never waits. */
export interface StdoutQueue {
  write(line: string): void
  /** The number of lines for which it had no room. */
  dropped(): number
}

/**
 * Creates an output to standard output. Its reader keeps the lines: the gateway knows only that there was room for
 * them.
 */
export const createStdoutOutput = ({ write, dropped }: StdoutQueue): AuditOutput => ({
  name: 'stdout',
  rotateBytes: null,
  isFull: false,
  isUnlinked: false,
  async isAt() {
    return false
  },
  async append(bytes) {
    let at = 0
    while (at < bytes.length) {
      const end = bytes.indexOf(10, at) + 1
      const before = dropped()
      write(bytes.toString('utf8', at, end))
      if (dropped() > before) {
        if (at > 0) return at
        throw new Error('stdout takes no more lines')
      }
      at = end
    }
    return at
  },
  async sync() {},
  async measureDisk() {
    return null
  },
  async openNext() {
    return null
  },
  async close() {},
})
