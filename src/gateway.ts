import type { AddressInfo } from 'node:net'
import { type AdminServer, openAdminServer } from './admin/server.ts'
import { now, pause, within } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Environment } from './config/environment.ts'
import { loadAside } from './config/load-aside.ts'
import type { Origins } from './config/origins.ts'
import type { Problem } from './config/problem.ts'
import { haveChanged } from './config/sources.ts'
import { Watch } from './config/watch.ts'
import type { Log } from './observe/log.ts'
import { openPublicServer, type PublicServer } from './public/server.ts'
import { openSandbox, type Sandbox } from './sandbox/sandbox.ts'
import { brought } from './snapshot/brought.ts'
import { build } from './snapshot/build.ts'
import { Live } from './snapshot/live.ts'
import { Overrides } from './snapshot/overrides.ts'
import { logReload, logWarnings } from './snapshot/reload-log.ts'
import { notReached } from './snapshot/reload-problems.ts'
import { type Loaded, type Outcome, Reloader, type Trigger } from './snapshot/reloader.ts'
import type { Snapshot } from './snapshot/snapshot.ts'
import { Endpoints } from './upstream/endpoints.ts'
import { preflight, triedIn } from './upstream/preflight.ts'

/** Is what a gateway is started with. */
export interface GatewayOptions {
  /** The configuration file, read again on every reload. */
  readonly file: string
  /** What it said at first. */
  readonly loaded: Loaded
  readonly environment: Environment
  readonly log: Log
  /** Tells how many log lines were dropped. */
  droppedLines(): number
}

/** Is a running gateway. */
export interface Gateway {
  /** Where clients reach it. */
  readonly address: AddressInfo
  /** Where operators reach it. */
  readonly adminAddress: AddressInfo
  /** The configuration that runs. */
  readonly config: Config
  /** Reads the configuration file again. */
  reload(trigger: Trigger): Promise<Outcome>
  /**
   * Says not ready, serves on for `waitMs` while whoever balances the load notices, finishes what runs, all within the configured
   * deadline, and closes every connection.
   */
  close(waitMs?: number): Promise<void>
}

/** Starts a gateway. Rejects when it cannot listen; nothing is left open then. */
export const startGateway = async (options: GatewayOptions): Promise<Gateway> => {
  const gateway = new Parts(options)
  try {
    return await gateway.start()
  } catch (error) {
    await gateway.close(0)
    throw error
  }
}

/** Is what a gateway consists of, from the first part that was started to the last. */
class Parts {
  readonly #options: GatewayOptions
  readonly #endpoints = new Endpoints((level, event, fields) => this.#options.log[level](fields, event))
  readonly #overrides: Overrides
  readonly #reloader: Reloader
  readonly #watch: Watch
  #sandbox: Sandbox | null = null
  #live: Live | null = null
  #public: PublicServer | null = null
  #admin: AdminServer | null = null
  #draining = false

  constructor(options: GatewayOptions) {
    const { file, loaded, environment, log } = options
    this.#options = options
    this.#overrides = new Overrides(
      (operation) =>
        this.#orderEnded(
          () => log.info({ operation }, 'override ended'),
          (err) => log.error({ operation, err }, 'an override could not be ended'),
        ),
      (order) =>
        this.#orderEnded(
          () => log.info(order, 'endpoint order ended'),
          (err) => log.error({ ...order, err }, 'an endpoint order could not be ended'),
        ),
    )
    this.#reloader = new Reloader({
      file,
      first: loaded,
      load: () => loadAside(file, environment),
      preflight: (next, origins) => this.#preflight(next, origins),
      apply: (config) => this.#apply(config),
      onOutcome: (trigger, outcome) => {
        logReload(log, trigger, outcome)
        this.#watch.caughtUp()
      },
    })
    this.#watch = new Watch({
      files: () => this.#reloader.sources.map(({ file }) => file),
      changed: () => haveChanged(this.#reloader.sources),
      reading: () => this.#reloader.reading,
      onChange: () => void this.#reloader.reload('file'),
    })
  }

  async start(): Promise<Gateway> {
    const { log, droppedLines, loaded } = this.#options
    const reloader = this.#reloader
    const live = new Live(await this.#build(reloader.config))
    this.#live = live
    const publicServer = await openPublicServer(live, log)
    this.#public = publicServer
    const admin = await openAdminServer(
      { live, reloader, overrides: this.#overrides, draining: () => this.#draining, droppedLines },
      log,
    )
    this.#admin = admin
    this.#observe(reloader.config)
    logWarnings(log, loaded.warnings)
    return {
      address: publicServer.address,
      adminAddress: admin.address,
      get config() {
        return reloader.config
      },
      reload: (trigger) => reloader.reload(trigger),
      close: (waitMs = 0) => this.close(waitMs),
    }
  }

  async close(waitMs: number): Promise<void> {
    const { deadlineMs } = this.#reloader.config.shutdown
    const startedAt = now()
    const left = (): number => Math.max(0, deadlineMs - (now() - startedAt))
    this.#draining = true
    this.#public?.drain()
    if (waitMs > 0) await pause(Math.min(waitMs, deadlineMs))
    this.#watch.close()
    this.#reloader.close()
    this.#overrides.clear()
    await this.#public?.close(left())
    if (this.#live !== null && !(await within(left(), this.#live.close()))) {
      await this.#endpoints.destroy(new Error('shut down'))
    }
    await this.#admin?.close()
    await this.#sandbox?.close()
  }

  /** Puts a configuration into effect. Whatever can fail comes first; the swap and what follows it cannot. */
  async #apply(config: Config): Promise<void> {
    if (this.#draining) throw new Error('the gateway is stopping')
    const next = await this.#build(config)
    try {
      if (this.#draining) throw new Error('the gateway is stopping') // since the sandbox began to open
      this.#admin?.renew(config.admin)
    } catch (error) {
      await next.retire()
      throw error
    }
    this.#live?.swap(next)
    this.#public?.bound(config.listen)
    this.#observe(config)
  }

  /** Tries the endpoints that an edit brings, and tells of the groups of which none is there. */
  async #preflight(next: Config, origins: Origins): Promise<readonly Problem[]> {
    const { file, config } = this.#reloader
    const mode = next.reload.preflight
    if (mode === 'none') return []
    const tried = brought(config, next).map(({ group, ...one }) => triedIn(group, one, mode))
    return notReached(await preflight(tried), origins, file)
  }

  /** Puts the file's word back into effect when the time of an order is over; one of the two hears what came of it. */
  #orderEnded(done: () => void, failed: (error: unknown) => void): void {
    this.#reloader.reapply().then(done, (error) => {
      if (!this.#draining) failed(error)
    })
  }

  async #build(config: Config): Promise<Snapshot> {
    if (usesSandbox(config)) this.#sandbox ??= await openSandbox()
    return build(config, this.#overrides, this.#endpoints, this.#sandbox?.origin ?? null, this.#live?.current ?? null)
  }

  /** Takes over how the gateway watches and is watched. */
  #observe({ log: { level }, reload }: Config): void {
    this.#options.log.level = level
    this.#watch.follow(reload)
  }
}

const usesSandbox = ({ upstreams }: Config): boolean =>
  Object.values(upstreams).some(({ endpoints }) => endpoints.some(({ origin }) => origin === 'sandbox'))
