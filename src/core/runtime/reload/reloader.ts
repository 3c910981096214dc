import type { Config } from '../../config/config.ts'
import { diffConfigs, findRestartRequired } from '../../config/diff/diff-reports.ts'
import type { LoadedConfig, LoadResult } from '../../config/load/load.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { epochMs } from '../../lib/clock.ts'
import { SerialQueue } from '../../lib/serial-queue.ts'
import { heldBackHint, notAnsweringHint, WorkersNotAnsweringError } from '../proxy-server.ts'
import { type DeferredEdit, DeferredReload } from './deferred-reload.ts'
import type { AppliedConfig } from './last-reading.ts'
import { LastReading } from './last-reading.ts'
import {
  LastRejection,
  ReloadHistory,
  type ReloadOutcome,
  type ReloadTrigger,
  type UnforcedRollback,
} from './reload-history.ts'
import { applyFailedProblem, unannouncedChangeProblem } from './reload-problems.ts'
import { ApplyQueue, ReloadRequests } from './reload-requests.ts'
import { findLostProtections, RollbackTarget } from './rollback-target.ts'

export interface HowToApply {
  readonly isRollback: boolean
  /** As {@link ApplyQueue} tells. */
  readonly urgent: Promise<void>
}

interface ReloaderOptions {
  readonly file: string
  readonly initial: LoadedConfig
  /** Never throws. */
  load(): Promise<LoadResult>
  /** Tries the new endpoints and keys of an edit before it takes effect. Lists what was not reached. */
  preflight(next: Config, provenance: ProvenanceMap): Promise<readonly ConfigProblem[]>
  /** Puts a configuration into effect, whole, or throws and leaves everything as it is. */
  apply(config: Config, how: HowToApply): Promise<void>
  /** Called after every reload, whatever came of it. `by`: the operators who asked for it; null: none did. */
  onOutcome(trigger: ReloadTrigger, outcome: ReloadOutcome, by: string | null): void
}

/**
 * Rereads the configuration, one reload at a time. Requests that come while one is under way share the next: the last
 * state of the file wins. A configuration is put into effect whole or not at all. An edit whose new endpoints or keys
 * are not reached, or that workers do not reply to, is held back, and tried again until it is applied or something else
 * is.
 */
export class Reloader {
  readonly file: string
  readonly lastReading: LastReading
  /** The port of the admin listener as the file alone said it at first. */
  readonly statedAdminPort: number | null
  readonly history = new ReloadHistory()
  readonly #options: ReloaderOptions
  readonly #queue = new SerialQueue()
  /** What is put into effect, one after the other. A reload that still reads, or tries endpoints, holds none up. */
  readonly #applying = new ApplyQueue()
  readonly #deferred = new DeferredReload(() => this.#retryDeferred())
  #running: AppliedConfig
  readonly #rollbackTarget = new RollbackTarget()
  #loaded: ReturnType<ReloadHistory['toCause']> = { loadedAt: epochMs(), loadedBy: 'start', orderedBy: null }
  readonly #lastRejection = new LastRejection()
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

  /**
   * Settings that work, but were probably not meant. The places are those of the file that the configuration was last
   * read from.
   */
  get warnings(): readonly ConfigProblem[] {
    return this.#running.warnings
  }

  /**
   * The configuration that a rollback would apply: the last one that differs in more than credentials, with those of
   * today. Null: there is none.
   */
  get previous(): AppliedConfig | null {
    return this.#rollbackTarget.resolve(this.#running)
  }

  /** Whether no other configuration has run since the start. */
  get isFirst(): boolean {
    return this.#rollbackTarget.isFirst
  }

  /**
   * When and how the running configuration came to run, and what was rejected since. Times are milliseconds since the
   * epoch.
   */
  get state() {
    return {
      ...this.#loaded,
      fileDiffers: this.lastReading.hash !== this.config.hash,
      refusal: this.#lastRejection.current,
      nextTryAt: this.#deferred.edit?.nextTryAt ?? null,
    }
  }

  /**
   * Reads the file again and puts it into effect; with `force`, without a preflight. `by`: the operator who asks.
   * `reject` is called when it is its turn: what it returns, unless null, is the result, and nothing is done for it.
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

  /**
   * Puts the previous configuration back into effect; one that would switch a protection off, with `force` alone. Null:
   * there is none. The file is not read until it changes, or on request. `reject` as for a reload.
   */
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

  /** Puts the running configuration into effect again, because an override beside it has changed. */
  reapply(isUrgent = false): Promise<void> {
    return this.change((apply) => apply(), isUrgent)
  }

  /**
   * Runs a task that decides on a change beside the running configuration, makes it, and puts it into effect with
   * `apply`. Nothing else is put into effect meanwhile: no edit comes between what was decided and what is in effect,
   * and nothing else takes along a change that may be undone. The task must not wait for another one, nor, from when
   * `urgent` resolves, for a worker that does not answer.
   */
  change<T>(task: (apply: () => Promise<void>, urgent: Promise<void>) => Promise<T>, isUrgent = false): Promise<T> {
    return this.#applying.run(
      (urgent) => task(() => this.#options.apply(this.config, { isRollback: false, urgent }), urgent),
      isUrgent,
    )
  }

  /** Stops to retry, so that no timer is left. */
  close(): void {
    this.#deferred.close()
  }

  #retryDeferred(): void {
    // Everything that was put into effect since has ended the wait.
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
    // The file has changed since it was held back. An operator who does not have it watched says when an edit is done.
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
      if (!(error instanceof WorkersNotAnsweringError))
        return this.#reject(trigger, [applyFailedProblem(this.file, error)])
      // An operator who rolls back, or skips the preflight, decides again with what runs then.
      const isHeldBack = trigger !== 'rollback' && !forced
      const tip = isHeldBack ? heldBackHint : notAnsweringHint
      const problems = [applyFailedProblem(this.file, error, tip)]
      const held = isHeldBack ? this.#deferred.record(config.hash, problems) : null
      return this.#reject(trigger, problems, held, `${error.message}: ${tip}`)
    }
    this.#deferred.cancel()
    const neverRan = this.#lastRejection.settle(trigger)
    // Clients that move to a file of their own change no hash, and where they stand is in the report.
    const running = same ? { ...previous.config, clientsSource: config.clientsSource } : config
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
    unanswered: string | null = null,
  ): ReloadOutcome {
    if (held === null) this.#deferred.cancel()
    const isFileSound = this.lastReading.hash !== null
    const rejection = { trigger, problems, isFileSound, isUnanswered: unanswered !== null }
    this.#lastRejection.record(rejection, this.lastReading.sources, held?.since ?? null)
    return this.#record(trigger, { result: 'refused', hash: this.config.hash, problems, held, unanswered })
  }

  #record(trigger: ReloadTrigger, outcome: ReloadOutcome): ReloadOutcome {
    this.history.add(trigger, outcome)
    this.#options.onOutcome(trigger, outcome, this.history.requestedBy)
    return outcome
  }
}
