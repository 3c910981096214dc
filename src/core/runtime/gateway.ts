import { groups } from '../../operations.ts'
import { type AdminServer, openAdminServer } from '../admin/server.ts'
import type { Config } from '../config/config.ts'
import { findServiceName } from '../config/config-facts.ts'
import type { Environment } from '../config/environment.ts'
import type { LoadedConfig } from '../config/load/load.ts'
import { loadInThread } from '../config/load/load-in-thread.ts'
import type { ProvenanceMap } from '../config/load/provenance.ts'
import { findChangedFiles, readStatStamp } from '../config/load/source-files.ts'
import type { ConfigProblem } from '../config/problem.ts'
import { processShare } from '../config/process-share.ts'
import { serveInProcess } from '../downstream/serve-in-process.ts'
import { listSides } from '../exchange/sides.ts'
import { now, sleep } from '../lib/clock.ts'
import { maxClientFiles, maxOpenFiles, otherFiles } from '../lib/file-descriptors.ts'
import { type BindTarget, drainGraceMs, type InheritedSockets, resolveBindTarget } from '../lib/net/bind-target.ts'
import { applyLogConfig, type Log, type LogEvent } from '../log/log.ts'
import { findUnreachableUpstreams, toPreflightTarget } from '../upstream/health/preflight.ts'
import { aloneProcess, type FeatureMessage, receiveAt } from './channel.ts'
import { createOverrides, createReapply, type Overrides } from './overrides.ts'
import type { PreparedPart } from './primary-part.ts'
import { OpenPrimaryParts, primaryFeatures } from './primary-parts.ts'
import type { ProxyServer } from './proxy-server.ts'
import { createFileWatcher, type FileWatcher } from './reload/file-watcher.ts'
import { newEndpoints } from './reload/new-endpoints.ts'
import type { ReloadOutcome, ReloadTrigger } from './reload/reload-history.ts'
import { logReload, logWarnings } from './reload/reload-log.ts'
import { unreachableProblems } from './reload/reload-problems.ts'
import { type HowToApply, Reloader } from './reload/reloader.ts'
import type { SnapshotInput } from './runtime-part.ts'
import { createDataPlane } from './snapshot/data-plane.ts'

export interface GatewayOptions {
  readonly file: string
  readonly loaded: LoadedConfig
  readonly environment: Environment
  readonly log: Log
  droppedLines(): number
  forwardLines(lines: Buffer): void
  readonly inheritedSockets?: InheritedSockets | null
}

export type Gateway = Awaited<ReturnType<GatewayRuntime['start']>>

/** If it rejects, nothing is left open. */
export const startGateway = async (options: GatewayOptions): Promise<Gateway> => {
  const gateway = new GatewayRuntime(options)
  return gateway.start().catch(async (error) => {
    await gateway.close(0)
    throw error
  })
}

class GatewayRuntime {
  readonly #options: GatewayOptions
  readonly #parts: OpenPrimaryParts
  readonly #overrides: Overrides
  readonly #reloader: Reloader
  readonly #configWatcher: FileWatcher
  readonly #serverReady = Promise.withResolvers<ProxyServer>()
  #server: ProxyServer | null = null
  #adminServer: AdminServer | null = null
  #draining = false

  constructor(options: GatewayOptions) {
    const { file, loaded, environment, log, droppedLines } = options
    this.#options = options
    const reapply = createReapply(
      (isUrgent) => this.#reloader.reapply(isUrgent),
      () => this.#draining,
    )
    this.#parts = new OpenPrimaryParts(
      { log, droppedLines: () => droppedLines(), config: () => this.#reloader.config, reapply },
      (message) => this.#server?.notify(message),
    )
    const { recordAdminEvent } = this.#parts
    this.#overrides = createOverrides(log, recordAdminEvent, reapply)
    this.#reloader = new Reloader({
      file,
      initial: loaded,
      load: () => loadInThread(file, environment, this.#reloader.config),
      preflight: (next, provenance) => preflightReload(this.#reloader.config, next, provenance, file),
      apply: (config, how) => this.#applyConfig(config, how),
      onOutcome: (trigger, outcome, by) => {
        logReload(log, recordAdminEvent, trigger, outcome, by)
        this.#parts.onReload()
      },
    })
    this.#configWatcher = createFileWatcher({
      stamp: () => readStatStamp(this.#reloader.lastReading.sources),
      changed: async () => (await findChangedFiles(this.#reloader.lastReading.sources)).length > 0,
      reading: () => this.#reloader.lastReading.isUnderWay,
      onChange: () => void this.#reloader.reload('file'),
    })
  }

  async start() {
    const { log, loaded, inheritedSockets } = this.#options
    const reloader = this.#reloader
    const { listen, admin } = reloader.config
    const parts = await this.#parts.prepare(reloader.config)
    // The listener of clients opens last: a gateway that cannot start must not accept a client.
    const adminServer = await this.#openAdminServer(resolveBindTarget(inheritedSockets?.admin ?? null, admin))
    this.#adminServer = adminServer
    const server = await this.#startServer(resolveBindTarget(inheritedSockets?.public ?? null, listen), parts)
    this.#server = server
    parts.commit()
    this.#serverReady.resolve(server)
    this.#applyLogAndWatch(reloader.config, server)
    logWarnings(log, loaded.warnings)
    return {
      address: server.address,
      adminAddress: adminServer.address,
      processes: server.processes,
      get config() {
        return reloader.config
      },
      get rejection() {
        return reloader.state.rejection
      },
      notServing: () => server.notServing(),
      reload: (trigger: ReloadTrigger): Promise<ReloadOutcome> => reloader.reload(trigger),
      close: (waitMs = 0) => this.close(waitMs),
    }
  }

  /** Ends within `shutdown.deadline`. */
  async close(waitMs: number): Promise<void> {
    const { deadline: deadlineMs } = this.#reloader.config.shutdown
    const startedAt = now()
    const remainingMs = (): number => Math.max(0, deadlineMs - (now() - startedAt))
    this.#draining = true
    this.#server?.drain()
    if (waitMs > 0) await sleep(Math.min(waitMs, deadlineMs))
    if (this.#options.inheritedSockets?.public != null) {
      this.#server?.stopAccepting() // clients that connect wait for the next process
      await sleep(Math.min(drainGraceMs, remainingMs()))
    }
    this.#configWatcher.close()
    this.#reloader.close()
    this.#overrides.clear()
    this.#parts.stop()
    await this.#server?.close(remainingMs())
    await this.#adminServer?.close()
    await this.#parts.close()
  }

  /** Reports and commands wait until the server of clients is ready. */
  #openAdminServer(bindTarget: BindTarget): Promise<AdminServer> {
    const { log, droppedLines } = this.#options
    return openAdminServer(
      {
        reloader: this.#reloader,
        overrides: {
          ...this.#parts.overrides,
          operations: this.#overrides.operations,
          endpoints: this.#overrides.endpoints,
        },
        parts: this.#parts.byFeature,
        recordAdminEvent: this.#parts.recordAdminEvent,
        draining: () => this.#draining,
        notServing: () => (this.#server === null ? 'starting' : this.#server.notServing()),
        droppedLines: () => droppedLines() + (this.#server?.droppedLines() ?? 0),
        report: async (urgent) => (await this.#serverReady.promise).report(urgent),
        runEverywhere: async (...command) => (await this.#serverReady.promise).runCommand(...command),
      },
      log,
      bindTarget,
    )
  }

  async #startServer(bindTarget: BindTarget, parts: PreparedPart): Promise<ProxyServer> {
    const { log, forwardLines } = this.#options
    const initial = this.#snapshotInput(this.#reloader.config, parts)
    const opened = await this.#parts.openServer({ initial, bindTarget, forwardLines })
    if (opened !== null) return opened
    const logEvent: LogEvent = (level, event, fields) => log[level](fields, event)
    const place = {
      ...aloneProcess,
      notify: (message: FeatureMessage) => receiveAt(this.#parts.byFeature, message, 'gateway'),
    }
    const dataPlane = await createDataPlane(initial, { logEvent, log, place })
    return serveInProcess(dataPlane, log, { bindTarget })
  }

  /** Every step that can fail comes before the commits, which cannot fail. */
  async #applyConfig(config: Config, { isRollback, urgent }: HowToApply): Promise<void> {
    if (this.#draining) throw new Error('the gateway is stopping')
    const server = await this.#serverReady.promise
    const parts = await this.#parts.prepare(config, isRollback)
    const next = await server.prepare(this.#snapshotInput(config, parts), urgent).catch(async (error) => {
      await parts.discard()
      throw error
    })
    try {
      if (this.#draining) throw new Error('the gateway is stopping')
      this.#adminServer?.applyConfig(config.admin)
    } catch (error) {
      await Promise.all([next.discard(), parts.discard()])
      throw error
    }
    parts.commit()
    await next.commit()
    this.#applyLogAndWatch(config, server)
  }

  #snapshotInput(config: Config, { overrides, sandboxOrigin = null }: PreparedPart): SnapshotInput {
    return { config, overrides: { ...this.#overrides, ...overrides }, sandboxOrigin }
  }

  #applyLogAndWatch(config: Config, { processes }: ProxyServer): void {
    applyLogConfig(this.#options.log, config, findServiceName(config))
    warnOfLowFileLimit(this.#options.log, config, processes)
    this.#configWatcher.configure(config.reload)
  }
}

const preflightReload = async (
  running: Config,
  next: Config,
  provenance: ProvenanceMap,
  file: string,
): Promise<readonly ConfigProblem[]> => {
  const { preflight: mode } = next.reload
  if (mode === 'none') return []
  const targets = newEndpoints(running, next).map((each) => toPreflightTarget(each, mode))
  const [unreached, ...others] = await Promise.all([
    findUnreachableUpstreams(targets),
    ...[...primaryFeatures.values()].map((feature) => feature.preflight?.(running, next, provenance, file) ?? []),
  ])
  return [...unreachableProblems(unreached, provenance, file), ...others.flat()]
}

/** Without `listen.maxConnections`, clients get what is left. */
export const neededFiles = (config: Pick<Config, 'listen' | 'upstreams'>, processes: number): number => {
  const { listen, upstreams } = config
  const share = (limit: number): number => processShare(limit, processes)
  let needed = otherFiles + share(listen.maxConnections ?? 0)
  for (const group of groups) {
    for (const { upstream } of listSides(upstreams[group]))
      needed += upstream.endpoints.length * share(upstream.maxConnections)
  }
  for (const feature of primaryFeatures.values()) needed += feature.countFiles?.(config, share) ?? 0
  return needed
}

const warnOfLowFileLimit = (log: Log, config: Config, processes: number): void => {
  const limit = maxOpenFiles()
  const needed = neededFiles(config, processes)
  if (needed <= limit) return
  log.warn({ limit, needed, clients: maxClientFiles(limit) }, 'too few file descriptors for the configuration')
}
