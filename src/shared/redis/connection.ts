/** Is one connection to Redis. */
export interface Connection {
  /** Takes one of a bucket; resolves with the outcome. Rejects when Redis says no, or the connection ends. */
  take(key: string, perMs: number, burst: number): Promise<number>
  /** Ends it at once. */
  destroy(): void
}

/** Connects. `lost` is told once of a connection that was made and has ended. Rejects when none can be made within a short time. */
export type Connect = (lost: (reason: unknown) => void) => Promise<Connection>
