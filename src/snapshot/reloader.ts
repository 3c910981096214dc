import { wallClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { type Change, difference, report } from '../config/diff.ts'
import type { LoadResult } from '../config/load.ts'
import type { Problem } from '../config/problem.ts'
import { hashOf } from '../config/resolve.ts'
import { needsRestart } from '../config/restart.ts'

/** Says what set a reload off. */
export type Trigger = 'start' | 'file' | 'signal' | 'request' | 'rollback'

/** Tells what came of a reload. */
export type Outcome =
  | {
      readonly result: 'applied' | 'unchanged'
      readonly from: string
      readonly to: string
      readonly changes: readonly Change[]
      readonly warnings: readonly Problem[]
    }
  | { readonly result: 'refused'; readonly hash: string; readonly problems: readonly Problem[] }

/** Is a configuration file that was read and can run. */
export type Loaded = Extract<LoadResult, { ok: true }>

interface ReloaderOptions {
  readonly file: string
  /** What the process was started with. */
  readonly first: Loaded
  /** Reads the file again. Never throws. */
  load(): Promise<LoadResult>
  /** Puts a configuration into effect, whole, or throws and leaves everything as it is. */
  apply(config: Config): Promise<void>
  /** Hears of every reload, whatever came of it. */
  onOutcome(trigger: Trigger, outcome: Outcome): void
}

/**
 * Rereads the configuration, one reload at a time. Whoever asks while one is under way gets the next, which all of them share: the last
 * word of the file wins. A configuration is put into effect whole or not at all.
 */
export class Reloader {
  readonly file: string
  readonly #options: ReloaderOptions
  #config: Config
  #previous: Config | null = null
  #loadedAt = wallClock()
  #loadedBy: Trigger = 'start'
  #sources: LoadResult['sources']
  /** The hash of what the file says; null when that cannot run. */
  #fileHash: string | null
  #refusal: { readonly at: number; readonly problems: readonly Problem[] } | null = null
  #last: Promise<unknown> = Promise.resolve()
  #next: Promise<Outcome> | null = null
  #reading = false

  constructor(options: ReloaderOptions) {
    this.#options = options
    this.file = options.file
    this.#config = options.first.config
    this.#sources = options.first.sources
    this.#fileHash = this.#config.hash
  }

  /** The configuration that runs. */
  get config(): Config {
    return this.#config
  }

  /** What a rollback would bring back: the one before it, but for who may ask the operator's listener; null: nothing else. */
  get previous(): Config | null {
    if (this.#previous === null) return null
    const previous = withAccessOf(this.#config, this.#previous)
    return previous.hash === this.#config.hash ? null : previous // only who may ask had changed
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
      fileDiffers: this.#fileHash !== this.#config.hash,
      refusal: this.#refusal,
    }
  }

  /** Reads the file again and puts it into effect. */
  reload(trigger: Trigger): Promise<Outcome> {
    this.#next ??= this.#queue(() => {
      this.#next = null
      return this.#reload(trigger)
    })
    return this.#next
  }

  /** Puts the configuration before this one back into effect; null: there is none. The file is not read until it changes, or on request. */
  rollback(): Promise<Outcome | null> {
    return this.#queue(async () => {
      const { previous } = this
      return previous === null ? null : this.#put('rollback', previous, [])
    })
  }

  /** Puts the running configuration into effect again, because something beside it has changed. */
  reapply(): Promise<void> {
    return this.#queue(() => this.#options.apply(this.#config))
  }

  #queue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {})
    return done
  }

  async #reload(trigger: Trigger): Promise<Outcome> {
    this.#reading = true
    const loaded = await this.#options.load().finally(() => {
      this.#reading = false
    })
    this.#sources = loaded.sources
    this.#fileHash = loaded.ok ? loaded.config.hash : null
    if (!loaded.ok) return this.#refuse(trigger, loaded.problems)
    const problems = needsRestart(this.#config, loaded.config, loaded.origins, this.file)
    if (problems.length > 0) return this.#refuse(trigger, problems)
    return this.#put(trigger, loaded.config, loaded.warnings)
  }

  async #put(trigger: Trigger, next: Config, warnings: readonly Problem[]): Promise<Outcome> {
    const previous = this.#config
    const same = next.hash === previous.hash
    try {
      if (!same) await this.#options.apply(next)
    } catch (error) {
      return this.#refuse(trigger, [cannotApply(this.file, error)])
    }
    this.#refusal = null
    if (!same) {
      this.#config = next
      this.#previous = previous
      this.#loadedAt = wallClock()
      this.#loadedBy = trigger
    }
    return this.#tell(trigger, {
      result: same ? 'unchanged' : 'applied',
      from: previous.hash,
      to: next.hash,
      changes: same ? [] : difference(report(previous), report(next)),
      warnings,
    })
  }

  #refuse(trigger: Trigger, problems: readonly Problem[]): Outcome {
    this.#refusal = { at: wallClock(), problems }
    return this.#tell(trigger, { result: 'refused', hash: this.#config.hash, problems })
  }

  #tell(trigger: Trigger, outcome: Outcome): Outcome {
    this.#options.onOutcome(trigger, outcome)
    return outcome
  }
}

/** A token or a certificate that was replaced had a reason to go, and the new one is what every tool now sends. */
const withAccessOf = ({ admin }: Config, earlier: Config): Config => {
  if (hashOf(admin) === hashOf(earlier.admin)) return earlier
  const { hash: _, ...settings } = { ...earlier, admin }
  return Object.freeze({ hash: hashOf(settings), ...settings })
}

const cannotApply = (file: string, error: unknown): Problem => ({
  file,
  line: 1,
  column: 1,
  path: '',
  expected: 'a configuration that can be put into effect',
  found: error instanceof Error ? error.message : String(error),
  message: 'the configuration is sound, but could not be put into effect',
})
