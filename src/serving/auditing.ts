import type { Auditor } from '../observe/audit/auditor.ts'
import { Outbox } from '../observe/audit/outbox.ts'
import type { ToPrimary } from './protocol.ts'

/** Has the primary write the audit log for a worker. */
export class Auditing implements Auditor {
  readonly #outbox: Outbox
  /** What the primary says of what it writes to. */
  primaryFails: boolean

  constructor(tell: (message: ToPrimary, done: () => void) => void, failing: boolean) {
    this.#outbox = new Outbox((lines, lost, done) => tell({ type: 'audited', lines, lost }, done))
    this.primaryFails = failing
  }

  get failing(): boolean {
    return this.primaryFails || this.#outbox.isFull
  }

  record(says: string): void {
    this.#outbox.add(says)
  }

  /** Resolves when all lines are on their way. */
  sent(): Promise<void> {
    return this.#outbox.sent()
  }
}
