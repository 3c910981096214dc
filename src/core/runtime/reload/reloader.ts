import type { Config } from '../../config/config.ts'
import { diffConfigs } from '../../config/diff/diff-reports.ts'
import type { LoadedConfig, LoadResult } from '../../config/load/load.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { withUnhashed } from '../../config/transfer-parts.ts'
import { epochMs } from '../../lib/clock.ts'
import { SerialQueue } from '../../lib/serial-queue.ts'
import { heldBackHint, notReplyingHint, WorkersNotReplyingError } from '../proxy-server.ts'
import { type DeferredEdit, DeferredReload } from './deferred-reload.ts'
import { type AppliedConfig, LastReading } from './last-reading.ts'
import {
  LastRejection,
  ReloadHistory,
  type ReloadOutcome,
  type ReloadTrigger,
  type UnforcedRollback,
} from './reload-history.ts'
import { applyFailedProblem, findRestartRequired, unannouncedChangeProblem } from './reload-problems.ts'
import { ApplyQueue, ReloadRequests } from './reload-requests.ts'
import { findLostProtections, RollbackTarget } from './rollback-target.ts'

export interface HowToApply {
  readonly isRollback: boolean
  readonly urgent: Promise<void>
}

interface ReloaderOptions {
  readonly file: string
  readonly initial: LoadedConfig
  load(): Promise<LoadResult>
  preflight(next: Config, provenance: ProvenanceMap): Promise<readonly ConfigProblem[]>
  /** Applies a configuration as a whole, or throws with nothing changed. */
  apply(config: Config, how: HowToApply): Promise<void>
  /** Also after a rejected reload. */
  onOutcome(trigger: ReloadTrigger, outcome: ReloadOutcome, by: string | null): void
}

/**
 * One reload at a time. Requests during a reload share the next one, which reads the last state of the file. A
 * configuration takes effect as a whole or not at all. An edit is held back when a new endpoint or key is not reached
 * or a worker does not reply, and retried until this or another configuration is applied.
 */
export class Reloader {
  readonly file: string
  readonly lastReading: Readonly<LastReading>
  readonly statedAdminPort: number | null
  readonly history: Readonly<ReloadHistory> = new ReloadHistory()
  readonly #options: ReloaderOptions
  readonly #queue = new SerialQueue()
  readonly #applying = new ApplyQueue()
  readonly #deferred: Readonly<DeferredReload> = new DeferredReload(() => this.#retryDeferred())
  #running: AppliedConfig
  readonly #rollbackTarget = new RollbackTarget()
  #loaded: ReturnType<ReloadHistory['toCause']> = { loadedAt: epochMs(), loadedBy: 'start', requestedBy: null }
  readonly #lastRejection: Readonly<LastRejection> = new LastRejection()
  readonly #requests = new ReloadRequests()

  constructor(options: ReloaderOptions) {
    this.#options = options
    this.file = options.file
    this.lastReading = new LastReading(options.file, options.initial, () => options.load())
    const { config, report, warnings, sources, provenance, statedAdminPort } = options.initial
    this.statedAdminPort = statedAdminPort
    this.#running = { config, report, warnings, sources, provenance }
  }

  get config(): Config {
    return this.#running.config
  }

  get running(): AppliedConfig {
    return this.#running
  }

  get previous(): AppliedConfig | null {
    return this.#rollbackTarget.resolve(this.#running)
  }

  get state() {
    return {
      ...this.#loaded,
      fileDiffers: this.lastReading.hash !== this.config.hash,
      rejection: this.#lastRejection.current,
      nextTryAt: this.#deferred.edit?.nextTryAt ?? null,
      isFirst: this.#rollbackTarget.isFirst,
    }
  }

  /**
   * `force` skips the preflight. `reject` is called when the request's turn comes; a non-null result ends the request.
   */
  reload<Rejection = never>(
    trigger: ReloadTrigger,
    force = false,
    by: string | null = null,
    reject: () => Rejection | null = () => null,
  ): Promise<ReloadOutcome | Rejection> {
    if (this.#requests.isEmpty) void this.#queue.run(() => this.#reloadAsRequested())
    return this.#requests.add({ trigger, force, by }, reject)
  }

  /** Turns a protection off only with `force`. Null: there is no target. */
  rollback<Rejection = never>(
    force = false,
    by: string | null = null,
    reject: () => Rejection | null = () => null,
  ): Promise<ReloadOutcome | UnforcedRollback | Rejection | null> {
    return this.#queue.run(async () => {
      const rejection = reject()
      if (rejection !== null) return rejection
      this.history.begin(by)
      this.#deferred.cancel()
      const { previous } = this
      if (previous === null) return null
      const switchesOff = findLostProtections(this.config, previous.config)
      return switchesOff.length > 0 && !force
        ? { result: 'unforced', switchesOff }
        : this.#apply('rollback', previous, force)
    })
  }

  reapply(isUrgent = false): Promise<void> {
    return this.change((apply) => apply(), isUrgent)
  }

  /**
   * Runs a task that decides on a change beside the running configuration, makes it, and applies it with `apply`.
   * Nothing else is applied meanwhile, so no edit comes between decision and effect, and a change that may be undone
   * affects no other. The task must not wait for another task or, after `urgent` resolves, for a silent worker.
   */
  change<T>(task: (apply: () => Promise<void>, urgent: Promise<void>) => Promise<T>, isUrgent = false): Promise<T> {
    return this.#applying.run(
      (urgent) => task(() => this.#options.apply(this.config, { isRollback: false, urgent }), urgent),
      isUrgent,
    )
  }

  close(): void {
    this.#deferred.close()
  }

  #retryDeferred(): void {
    void this.#queue.run(async () => {
      this.history.begin(null)
      return this.#deferred.isDue ? this.#reload('preflight') : null
    })
  }

  async #reloadAsRequested(): Promise<void> {
    const request = this.#requests.take()
    if (request === null) return
    this.history.begin(request.by)
    this.#deferred.cancel()
    const outcome = this.#reload(request.trigger, request.force)
    request.settle(outcome)
    await outcome
  }

  async #reload(trigger: ReloadTrigger, forced = false): Promise<ReloadOutcome> {
    const loaded = await this.lastReading.repeat()
    const { hash } = this.lastReading
    if (trigger !== 'preflight' || hash === this.#deferred.edit?.hash)
      return this.#validateAndApply(trigger, loaded, forced)
    // The file has changed since. Without `reload.watch`, the operator says when an edit is complete.
    const isIgnored = !this.config.reload.watch && hash !== this.config.hash
    return isIgnored
      ? this.#reject(trigger, [unannouncedChangeProblem(this.file)])
      : this.#validateAndApply('file', loaded, forced)
  }

  async #validateAndApply(trigger: ReloadTrigger, loaded: LoadResult, forced: boolean): Promise<ReloadOutcome> {
    if (!loaded.ok) return this.#reject(trigger, loaded.problems)
    const { config, provenance } = loaded
    const problems = findRestartRequired(this.#options.initial.restartOnly, loaded, this.file)
    if (problems.length > 0) return this.#reject(trigger, problems)
    if (forced || config.hash === this.config.hash) return this.#apply(trigger, loaded, forced)
    try {
      const unreached = await this.#options.preflight(config, provenance)
      if (unreached.length > 0) return this.#reject(trigger, unreached, this.#deferred.record(config.hash, unreached))
    } catch (error) {
      return this.#reject(trigger, [applyFailedProblem(this.file, error)])
    }
    return this.#apply(trigger, loaded)
  }

  #apply(trigger: ReloadTrigger, next: AppliedConfig, forced = false): Promise<ReloadOutcome> {
    return this.#applying.run((urgent) => this.#applyNow(trigger, next, forced, urgent))
  }

  async #applyNow(
    trigger: ReloadTrigger,
    { config, report, warnings, sources, provenance }: AppliedConfig,
    forced: boolean,
    urgent: Promise<void>,
  ): Promise<ReloadOutcome> {
    const previous = this.#running
    const same = config.hash === previous.config.hash
    try {
      if (!same) await this.#options.apply(config, { isRollback: trigger === 'rollback', urgent })
    } catch (error) {
      if (!(error instanceof WorkersNotReplyingError))
        return this.#reject(trigger, [applyFailedProblem(this.file, error)])
      // An operator who rolls back or skips the preflight decides alone.
      const isHeldBack = trigger !== 'rollback' && !forced
      const tip = isHeldBack ? heldBackHint : notReplyingHint
      const problems = [applyFailedProblem(this.file, error, tip)]
      const held = isHeldBack ? this.#deferred.record(config.hash, problems) : null
      return this.#reject(trigger, problems, held, `${error.message}: ${tip}`)
    }
    this.#deferred.cancel()
    const neverRan = this.#lastRejection.settle(trigger)
    const running = same ? withUnhashed(previous.config, config) : config
    this.#running = { config: running, report, warnings, sources, provenance }
    if (!same) {
      this.#rollbackTarget.record(previous, this.#running)
      this.#loaded = this.history.toCause(trigger)
    }
    return this.#record(trigger, {
      result: same ? 'unchanged' : 'applied',
      from: previous.config.hash,
      to: config.hash,
      changes: same ? [] : diffConfigs(previous, this.#running),
      warnings,
      forced,
      switchedOff: findLostProtections(previous.config, config),
      neverRan: neverRan?.at ?? null,
    })
  }

  #reject(
    trigger: ReloadTrigger,
    problems: readonly ConfigProblem[],
    held: DeferredEdit | null = null,
    silentWorkers: string | null = null,
  ): ReloadOutcome {
    if (held === null) this.#deferred.cancel()
    const isFileSound = this.lastReading.hash !== null
    const rejection = { trigger, problems, isFileSound, areWorkersSilent: silentWorkers !== null }
    this.#lastRejection.record(rejection, this.lastReading.sources, held?.since ?? null)
    return this.#record(trigger, { result: 'rejected', hash: this.config.hash, problems, held, silentWorkers })
  }

  #record(trigger: ReloadTrigger, outcome: ReloadOutcome): ReloadOutcome {
    this.history.add(trigger, outcome)
    this.#options.onOutcome(trigger, outcome, this.history.requestedBy)
    return outcome
  }
}
