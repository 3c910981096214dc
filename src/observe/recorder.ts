import type { Exchanged } from './exchanged.ts'

/** Hears of every exchange once its body has ended. Never waits, and never throws. */
export interface Recorder {
  readonly name: string
  record(exchanged: Exchanged): void
}
