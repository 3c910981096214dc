import type { Given, Script } from './script.ts'

/** Is one connection to Redis. */
export interface Connection {
  /** Takes one of a bucket; resolves with the outcome. Rejects when Redis says no, or the connection ends. */
  take(key: string, perMs: number, burst: number): Promise<number>
  /** Runs a script; resolves with what it returns, texts as bytes. Rejects as `take` does. */
  run(script: Script, given: Given): Promise<unknown>
  /** Ends it at once. */
  destroy(): void
}

/** Connects. `lost` is told once of a connection that was made and has ended. Rejects when none can be made within a short time. */
export type Connect = (lost: (reason: unknown) => void) => Promise<Connection>
