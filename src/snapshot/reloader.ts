import { wallClock } from '../clock.ts'
import { changesBetween, type Reported } from '../config/changes.ts'
import type { Config } from '../config/config.ts'
import type { LoadResult } from '../config/load.ts'
import type { Origins } from '../config/origins.ts'
import type { Problem } from '../config/problem.ts'
import { needsRestart } from '../config/restart.ts'
import { withAccessOf } from './access.ts'
import { type Held, HeldBack } from './held-back.ts'
import { type Outcome, ReloadHistory, type Trigger } from './reload-history.ts'
import { cannotApply, notAskedFor } from './reload-problems.ts'

/** Is a configuration file that was read and can run. */
export type Loaded = Extract<LoadResult, { ok: true }>

interface ReloaderOptions {
  readonly file: string
  /** What the process was started with. */
  readonly first: Loaded
  /** Reads the file again. Never throws. */
  load(): Promise<LoadResult>
  /** Tries the endpoints and keys that an edit brings, before it takes effect; lists what is not reached. */
  preflight(next: Config, origins: Origins): Promise<readonly Problem[]>
  /** Puts a configuration into effect, whole, or throws and leaves everything as it is. */
  apply(config: Config): Promise<void>
  /** Hears of every reload, whatever came of it. */
  onOutcome(trigger: Trigger, outcome: Outcome): void
}

/** Is a configuration with what was said about it. */
export interface Taken extends Reported {
  readonly warnings: readonly Problem[]
}

/**
 * Rereads the configuration, one reload at a time. Whoever asks while one is under way gets the next, which all of them share: the last
 * word of the file wins. A configuration is put into effect whole or not at all. An edit that brings what is not reached is held back,
 * and tried again until it is taken or something else is.
 */
export class Reloader {
  readonly file: string
  /** The port of the operators as the file alone said it at first. */
  readonly statedAdminPort: number | null
  /** What came of the reloads before. */
  readonly history = new ReloadHistory()
  readonly #options: ReloaderOptions
  readonly #heldBack = new HeldBack(() => this.#again())
  #running: Taken
  #previous: Taken | null = null
  #loadedAt = wallClock()
  #loadedBy: Trigger = 'start'
  #sources: LoadResult['sources']
  /** The hash of what the file says; null when that cannot run. */
  #fileHash: string | null
  #refusal: { readonly at: number; readonly problems: readonly Problem[] } | null = null
  #last: Promise<unknown> = Promise.resolve()
  #next: Promise<Outcome> | null = null
  /** Whether one of those who share the next reload wants it without trying what it brings. */
  #forced = false
  #reading = false

  constructor(options: ReloaderOptions) {
    this.#options = options
    this.file = options.file
    const { config, report, warnings, sources, statedAdminPort } = options.first
    this.statedAdminPort = statedAdminPort
    this.#running = { config, report, warnings }
    this.#sources = sources
    this.#fileHash = config.hash
  }

  /** The configuration that runs. */
  get config(): Config {
    return this.#running.config
  }

  /** The configuration that runs, with what may be shown of it. */
  get running(): Taken {
    return this.#running
  }

  /** What in it works, but was probably not meant; the places are those of the file that it was last read from. */
  get warnings(): readonly Problem[] {
    return this.#running.warnings
  }

  /** What a rollback would bring back: the one before it, but for who may come in; null: nothing else. */
  get previous(): Taken | null {
    if (this.#previous === null) return null
    const { warnings } = this.#previous
    const previous = withAccessOf(this.#running, this.#previous)
    return previous.config.hash === this.config.hash ? null : { ...previous, warnings } // only who may ask had changed
  }

  /** The files that were last read, whatever came of it. */
  get sources(): LoadResult['sources'] {
    return this.#sources
  }

  /** Tells whether they are being read just now. */
  get reading(): boolean {
    return this.#reading
  }

  /** When and how the running configuration came to run, and what was refused since. Times are milliseconds since the epoch. */
  get state() {
    return {
      loadedAt: this.#loadedAt,
      loadedBy: this.#loadedBy,
      fileDiffers: this.#fileHash !== this.config.hash,
      refusal: this.#refusal,
      /** When the edit that is held back is tried again; null: none is. */
      nextTryAt: this.#heldBack.held?.nextTryAt ?? null,
    }
  }

  /** Reads the file again and puts it into effect; by force, without trying what it brings. */
  reload(trigger: Trigger, force = false): Promise<Outcome> {
    this.#forced ||= force
    this.#next ??= this.#queue(() => {
      const forced = this.#forced
      this.#next = null
      this.#forced = false
      this.#heldBack.end()
      return this.#reload(trigger, forced)
    })
    return this.#next
  }

  /** Puts the configuration before this one back into effect; null: there is none. The file is not read until it changes, or on request. */
  rollback(): Promise<Outcome | null> {
    return this.#queue(async () => {
      this.#heldBack.end()
      const { previous } = this
      return previous === null ? null : this.#put('rollback', previous)
    })
  }

  /** Puts the running configuration into effect again, because something beside it has changed. */
  reapply(): Promise<void> {
    return this.#queue(() => this.#options.apply(this.config))
  }

  /** Tries nothing of itself any more, so that no timer is left. */
  close(): void {
    this.#heldBack.close()
  }

  #again(): void {
    // Whatever was put into effect since has ended the wait.
    void this.#queue(async () => (this.#heldBack.isDue ? this.#reload('preflight') : null))
  }

  #queue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }

  async #reload(trigger: Trigger, forced = false): Promise<Outcome> {
    this.#reading = true
    const loaded = await this.#options.load().finally(() => {
      this.#reading = false
    })
    this.#sources = loaded.sources
    this.#fileHash = loaded.ok ? loaded.config.hash : null
    if (trigger !== 'preflight' || this.#fileHash === this.#heldBack.held?.hash)
      return this.#take(trigger, loaded, forced)
    // The file has changed since it was held back: whoever does not have it watched says himself when an edit is done.
    const left = !this.config.reload.watch && this.#fileHash !== this.config.hash
    return left ? this.#refuse(trigger, [notAskedFor(this.file)]) : this.#take('file', loaded, forced)
  }

  async #take(trigger: Trigger, loaded: LoadResult, forced: boolean): Promise<Outcome> {
    if (!loaded.ok) return this.#refuse(trigger, loaded.problems)
    const { config, origins } = loaded
    const problems = needsRestart(this.#options.first.fixed, loaded, this.file)
    if (problems.length > 0) return this.#refuse(trigger, problems)
    if (forced || config.hash === this.config.hash) return this.#put(trigger, loaded, forced)
    try {
      const unreached = await this.#options.preflight(config, origins)
      if (unreached.length > 0) return this.#refuse(trigger, unreached, this.#heldBack.note(config.hash, unreached))
    } catch (error) {
      return this.#refuse(trigger, [cannotApply(this.file, error)])
    }
    return this.#put(trigger, loaded)
  }

  async #put(trigger: Trigger, { config, report, warnings }: Taken, forced = false): Promise<Outcome> {
    const previous = this.#running
    const same = config.hash === previous.config.hash
    try {
      if (!same) await this.#options.apply(config)
    } catch (error) {
      return this.#refuse(trigger, [cannotApply(this.file, error)])
    }
    this.#heldBack.end()
    this.#refusal = null
    this.#running = same ? { ...previous, warnings } : { config, report, warnings }
    if (!same) {
      this.#previous = previous
      this.#loadedAt = wallClock()
      this.#loadedBy = trigger
    }
    return this.#tell(trigger, {
      result: same ? 'unchanged' : 'applied',
      from: previous.config.hash,
      to: config.hash,
      changes: same ? [] : changesBetween(previous, this.#running),
      warnings,
      forced,
    })
  }

  #refuse(trigger: Trigger, problems: readonly Problem[], held: Held | null = null): Outcome {
    if (held === null) this.#heldBack.end()
    this.#refusal = { at: wallClock(), problems }
    return this.#tell(trigger, { result: 'refused', hash: this.config.hash, problems, held })
  }

  #tell(trigger: Trigger, outcome: Outcome): Outcome {
    this.history.add(trigger, outcome)
    this.#options.onOutcome(trigger, outcome)
    return outcome
  }
}
