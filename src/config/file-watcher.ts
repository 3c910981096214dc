import { now } from '../clock.ts'
import type { ReloadConfig } from './config.ts'

/** What a watch asks about the files of a configuration, and what it reports to. */
interface WatchTarget {
  /** Reads what `stat` says of the files now. */
  stamp(): Promise<string>
  /** Compares the contents of the files with what was read of them. */
  changed(): Promise<boolean>
  /** Whether the files are being read just now: what was read is not known yet, and nothing can be compared with it. */
  reading(): boolean
  onChange(): void
}

const checkIntervalMs = 250
// A save is several writes. It has settled when two looks so far apart see the same. One that goes on longer is not
// waited for.
const settleMs = 50
const maxSettleMs = 500

/**
 * Watches the files of a configuration. It asks `stat` four times a second, and compares contents once that says
 * something new. It compares them every `reload.poll` as well, for a file system with coarse times. One look at a time:
 * a file system that hangs is asked once.
 */
export class FileWatcher {
  readonly #target: WatchTarget
  #enabled = false
  #pollMs: number | null = null
  #timer: NodeJS.Timeout | null = null
  #isChecking = false
  /** What the last look saw. */
  #lastStamp = ''
  /** What `stat` said of the contents that were compared last; empty: they were being written. */
  #comparedStamp = ''
  #comparedAt = 0
  #unsettledSince: number | null = null

  constructor(target: WatchTarget) {
    this.#target = target
  }

  /** Begins to watch, or goes on in another way. */
  configure({ watch, poll }: Pick<ReloadConfig, 'watch' | 'poll'>): void {
    this.#enabled = watch
    this.#pollMs = poll
    this.#scheduleCheck(settleMs)
  }

  close(): void {
    this.configure({ watch: false, poll: null })
  }

  #scheduleCheck(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = this.#enabled && !this.#isChecking ? setTimeout(this.#check, ms).unref() : null
  }

  readonly #check = async (): Promise<void> => {
    this.#isChecking = true
    await this.#compare()
    this.#isChecking = false
    this.#scheduleCheck(
      this.#unsettledSince === null ? Math.min(checkIntervalMs, this.#pollMs ?? checkIntervalMs) : settleMs,
    )
  }

  async #compare(): Promise<void> {
    if (this.#target.reading()) return
    const stamp = await this.#target.stamp()
    const isSettled = stamp === this.#lastStamp
    this.#lastStamp = stamp
    const isKnown = isSettled && stamp === this.#comparedStamp
    const isDue = this.#pollMs !== null && now() - this.#comparedAt >= this.#pollMs
    if (isKnown && !isDue) return
    this.#unsettledSince ??= now()
    if (!isSettled && now() - this.#unsettledSince < maxSettleMs) return
    const changed = await this.#target.changed()
    this.#unsettledSince = null
    if (!this.#enabled || this.#target.reading()) return // and compared again at the next look
    // What is written after two looks that saw the same has another time, however coarse the kernel's clock of files.
    this.#comparedStamp = isSettled ? stamp : ''
    this.#comparedAt = now()
    if (changed) this.#target.onChange()
  }
}
