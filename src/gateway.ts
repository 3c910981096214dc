import type { AddressInfo } from 'node:net'
import { type AdminServer, openAdminServer } from './admin/server.ts'
import { now, pause } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Environment } from './config/environment.ts'
import { loadAside } from './config/load-aside.ts'
import { haveChanged, stampOf } from './config/sources.ts'
import { Watch } from './config/watch.ts'
import { workerCount } from './config/worker-count.ts'
import { Trail } from './observe/audit/trail.ts'
import { destinationOf, type Log } from './observe/log.ts'
import { makePseudonym } from './public/server.ts'
import { SandboxOnDemand } from './sandbox/on-demand.ts'
import { openCrew } from './serving/crew.ts'
import { serveHere } from './serving/here.ts'
import { type Inherited, nothingInherited, placeOf } from './serving/listeners.ts'
import type { Patience } from './serving/patience.ts'
import type { Serving } from './serving/serving.ts'
import { onItsWayMs, type Place } from './shared/place.ts'
import type { State } from './snapshot/build.ts'
import { keepOrders, type Overrides } from './snapshot/overrides.ts'
import { openPlane } from './snapshot/plane.ts'
import type { Outcome, Trigger } from './snapshot/reload-history.ts'
import { logReload, logWarnings } from './snapshot/reload-log.ts'
import { type Loaded, Reloader } from './snapshot/reloader.ts'
import { tryBrought } from './snapshot/try-brought.ts'
import type { Tell } from './upstream/notices.ts'

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
  /** Takes whole log lines of other processes. */
  passOn(lines: Buffer): void
  /** How long workers are waited for; as is usual unless said. */
  readonly patience?: Patience
  /** The listening sockets that the process was started with; none unless said. */
  readonly inherited?: Inherited
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
  return gateway.start().catch(async (error) => {
    await gateway.close(0)
    throw error
  })
}

/** Is what a gateway consists of, from the first part that was started to the last. */
class Parts {
  readonly #options: GatewayOptions
  readonly #trail: Trail
  readonly #overrides: Overrides
  readonly #reloader: Reloader
  readonly #watch: Watch
  readonly #sandbox = new SandboxOnDemand()
  readonly #opened = Promise.withResolvers<Serving>()
  #serving: Serving | null = null
  #admin: AdminServer | null = null
  #draining = false

  constructor(options: GatewayOptions) {
    const { file, loaded, environment, log, droppedLines: dropped } = options
    this.#options = options
    this.#trail = new Trail({ log, stdout: { write: (line) => destinationOf(log).write(line), dropped } })
    const { tell } = this.#trail
    this.#overrides = keepOrders({
      log,
      tell,
      reapply: () => this.#reloader.reapply(),
      isOver: () => this.#draining,
    })
    this.#reloader = new Reloader({
      file,
      first: loaded,
      load: () => loadAside(file, environment, this.#reloader.config.clients),
      preflight: (next, origins) => tryBrought(this.#reloader.config, next, origins, file),
      apply: (config) => this.#apply(config),
      onOutcome: (trigger, outcome) => {
        logReload(log, tell, trigger, outcome)
        this.#trail.reopen()
      },
    })
    this.#watch = new Watch({
      stamp: () => stampOf(this.#reloader.sources),
      changed: () => haveChanged(this.#reloader.sources),
      reading: () => this.#reloader.reading,
      onChange: () => void this.#reloader.reload('file'),
    })
  }

  async start(): Promise<Gateway> {
    const { log, droppedLines, loaded, inherited = nothingInherited } = this.#options
    const reloader = this.#reloader
    const { listen, admin: operators } = reloader.config
    const audited = await this.#trail.prepare(reloader.config.audit)
    const [place, adminPlace] = [placeOf(inherited.public, listen), placeOf(inherited.admin, operators)]
    // Clients come last: one that cannot start must not have accepted any of them.
    this.#admin = await openAdminServer(
      {
        reloader,
        overrides: this.#overrides,
        audit: this.#trail,
        draining: () => this.#draining,
        notServing: () => (this.#serving === null ? 'starting' : this.#serving.notServing()),
        droppedLines: () => droppedLines() + (this.#serving?.droppedLines() ?? 0),
        report: async () => (await this.#opened.promise).report(),
        workers: () => this.#serving?.workers() ?? [],
        command: async (name, what) => (await this.#opened.promise).command(name, what),
      },
      log,
      adminPlace,
    )
    const serving = await this.#serve(place)
    this.#serving = serving
    audited.commit()
    this.#opened.resolve(serving)
    this.#observe(reloader.config)
    logWarnings(log, loaded.warnings)
    return {
      address: serving.address,
      adminAddress: this.#admin.address,
      get config() {
        return reloader.config
      },
      reload: (trigger) => reloader.reload(trigger),
      close: (waitMs = 0) => this.close(waitMs),
    }
  }

  async close(waitMs: number): Promise<void> {
    const { deadline: deadlineMs } = this.#reloader.config.shutdown
    const startedAt = now()
    const left = (): number => Math.max(0, deadlineMs - (now() - startedAt))
    this.#draining = true
    this.#serving?.drain()
    if (waitMs > 0) await pause(Math.min(waitMs, deadlineMs))
    if (this.#options.inherited?.public != null) {
      this.#serving?.leave() // clients that connect wait for the next process
      await pause(Math.min(onItsWayMs, left()))
    }
    this.#watch.close()
    this.#reloader.close()
    this.#overrides.clear()
    await this.#serving?.close(left())
    await this.#admin?.close()
    await this.#sandbox.close()
    await this.#trail.close()
  }

  /** Has clients served: by this process, or by as many as the file says. */
  async #serve(place: Place): Promise<Serving> {
    const { log, passOn, patience } = this.#options
    const { config } = this.#reloader
    const first = await this.#state(config)
    const size = workerCount(config)
    const trail = this.#trail
    if (size > 1) return openCrew({ size, first, place, pseudonym: makePseudonym(), log, trail, passOn, patience })
    const tell: Tell = (level, event, fields) => log[level](fields, event)
    return serveHere(await openPlane(first, { tell, log, auditor: trail }), log, place)
  }

  /** Puts a configuration into effect. Whatever can fail comes first; what follows cannot. */
  async #apply(config: Config): Promise<void> {
    if (this.#draining) throw new Error('the gateway is stopping')
    const serving = await this.#opened.promise // operators come in before clients
    const audited = await this.#trail.prepare(config.audit)
    const next = await this.#state(config)
      .then((state) => serving.prepare(state))
      .catch(async (error) => {
        await audited.discard()
        throw error
      })
    try {
      if (this.#draining) throw new Error('the gateway is stopping') // since it began to prepare
      this.#admin?.renew(config.admin)
    } catch (error) {
      await Promise.all([next.discard(), audited.discard()])
      throw error
    }
    audited.commit()
    await next.commit()
    this.#observe(config)
  }

  async #state(config: Config): Promise<State> {
    return { config, said: this.#overrides, sandboxOrigin: await this.#sandbox.originFor(config) }
  }

  /** Takes over how the gateway watches and is watched. */
  #observe({ log: { level }, reload }: Config): void {
    this.#options.log.level = level
    this.#watch.follow(reload)
  }
}
