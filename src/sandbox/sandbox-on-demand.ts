import type { Config } from '../config/config.ts'
import { listSides } from '../sides.ts'
import { openSandbox, type Sandbox } from './sandbox.ts'

/** The sandbox of a gateway, opened for the first configuration that uses it and open from then on. */
export class SandboxOnDemand {
  #sandbox: Sandbox | null = null

  /** Returns the sandbox's origin; null: no configuration has used it so far. */
  async originFor({ upstreams }: Config): Promise<string | null> {
    const used = Object.values(upstreams)
      .flatMap(listSides)
      .some(({ upstream }) => upstream.endpoints.some(({ origin }) => origin === 'sandbox'))
    if (used) this.#sandbox ??= await openSandbox()
    return this.#sandbox?.origin ?? null
  }

  async close(): Promise<void> {
    await this.#sandbox?.close()
  }
}
