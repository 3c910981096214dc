import type { AddressInfo } from 'node:net'
import { now } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Log } from './observe/log.ts'
import { openPublicServer } from './public/server.ts'
import { openSandbox } from './sandbox/sandbox.ts'
import { Live } from './snapshot/live.ts'
import { build } from './snapshot/snapshot.ts'

/** Is a running gateway. */
export interface Gateway {
  /** Where clients reach it. */
  readonly address: AddressInfo
  /** Finishes what runs, within the configured deadline, then closes every connection. */
  close(): Promise<void>
}

/** Starts a gateway. Rejects when it cannot listen; nothing is left open then. */
export const startGateway = async (config: Config, log: Log): Promise<Gateway> => {
  const sandbox = usesSandbox(config) ? await openSandbox() : null
  const live = new Live(build(config, sandbox?.origin ?? null))
  const shut = async (deadlineMs: number): Promise<void> => {
    await live.current.retire(deadlineMs)
    await sandbox?.close()
  }
  try {
    const server = await openPublicServer(live, log)
    return {
      address: server.address,
      async close() {
        const { deadlineMs } = live.current.config.shutdown
        const startedAt = now()
        await server.close(deadlineMs)
        await shut(Math.max(0, deadlineMs - (now() - startedAt)))
      },
    }
  } catch (error) {
    await shut(0)
    throw error
  }
}

const usesSandbox = ({ upstreams }: Config): boolean =>
  Object.values(upstreams).some(({ endpoints }) => endpoints.some(({ origin }) => origin === 'sandbox'))
