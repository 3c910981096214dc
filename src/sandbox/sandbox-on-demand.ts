import type { Config } from '../config/config.ts'
import { openSandbox, type Sandbox } from './sandbox.ts'

/** Is the sandbox of a gateway, which is opened for the first configuration that uses it and stays open. */
export class SandboxOnDemand {
  #sandbox: Sandbox | null = null

  /** Tells where it listens; null: nothing uses it so far. */
  async originFor({ upstreams }: Config): Promise<string | null> {
    const isUsed = Object.values(upstreams).some(({ endpoints }) =>
      endpoints.some(({ origin }) => origin === 'sandbox'),
    )
    if (isUsed) this.#sandbox ??= await openSandbox()
    return this.#sandbox?.origin ?? null
  }

  async close(): Promise<void> {
    await this.#sandbox?.close()
  }
}
