import type { ChainPosition } from './chain.ts'

/** Is what lines are written to, one batch after another. */
export interface AuditOutput {
  /** Where lines go, as the configuration says it. */
  readonly name: string
  /** At how many bytes it is full; null: never. */
  rotateBytes: number | null
  /** Whether it holds as much as it shall, so that {@link openNext} is due. */
  readonly isFull: boolean
  /** Whether nobody could read what is appended, so that nothing is: {@link openNext} is due. */
  readonly isUnlinked: boolean
  /** Appends bytes, perhaps not all; tells how many. Rejects when it took none. */
  append(bytes: Buffer): Promise<number>
  /** Has what was appended survive a crash of the machine. */
  sync(): Promise<void>
  /** Opens what lines go to from now on; null: this one still. Whoever asks closes this one then. */
  openNext(lastNumber: number): Promise<AuditOutput | null>
  close(): Promise<void>
}

/** Is a target that is open, and where the chain in it stands. */
export interface OpenedAuditOutput {
  readonly output: AuditOutput
  readonly link: ChainPosition
  /** What stands behind its last line and is none. */
  readonly torn: Buffer | null
}

/** Is what lines for standard output go through: the queue of the main log, which never waits. */
export interface StdoutQueue {
  write(line: string): void
  /** Counts the lines for which it had no room. */
  dropped(): number
}

/** Makes a target of standard output. Who reads it keeps it: nothing is known of a line but that there was room for it. */
export const createStdoutOutput = ({ write, dropped }: StdoutQueue): AuditOutput => ({
  name: 'stdout',
  rotateBytes: null,
  isFull: false,
  isUnlinked: false,
  async append(bytes) {
    let at = 0
    while (at < bytes.length) {
      const end = bytes.indexOf(10, at) + 1
      const before = dropped()
      write(bytes.toString('utf8', at, end))
      if (dropped() > before) {
        if (at > 0) return at
        throw new Error('the reader of stdout is too slow')
      }
      at = end
    }
    return at
  },
  async sync() {},
  async openNext() {
    return null
  },
  async close() {},
})
