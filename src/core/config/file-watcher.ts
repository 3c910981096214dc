import { now } from '../lib/clock.ts'
import type { ReloadConfig } from './config.ts'

interface WatchTarget {
  /** Reads the stat data of the files, as one text. */
  stamp(): Promise<string>
  changed(): Promise<boolean>
  /** Whether a load is running: its contents are not known yet, so there is nothing to compare with. */
  reading(): boolean
  onChange(): void
}

const checkIntervalMs = 250
// A save is several writes. It has settled when two checks this far apart see the same. After `maxSettleMs` the watcher
// waits no longer.
const settleMs = 50
const maxSettleMs = 500

/**
 * Watches the files of a configuration. It calls `stat` four times a second, and compares contents when the result is
 * new. It compares them every `reload.poll` as well, for a file system with coarse times. One check at a time: on a
 * file system that hangs, only one waits.
 */
export class FileWatcher {
  readonly #target: WatchTarget
  #enabled = false
  #isClosed = false
  #pollMs: number | null = null
  #timer: NodeJS.Timeout | null = null
  #isChecking = false
  #lastStamp = ''
  /** The stat data of the contents compared last; empty: they were being written. */
  #comparedStamp = ''
  #comparedAt = 0
  #unsettledSince: number | null = null

  constructor(target: WatchTarget) {
    this.#target = target
  }

  configure({ watch, poll }: Pick<ReloadConfig, 'watch' | 'poll'>): void {
    this.#enabled = watch && !this.#isClosed
    this.#pollMs = poll
    this.#scheduleCheck(settleMs)
  }

  /** Stops for good, whatever is configured later. */
  close(): void {
    this.#isClosed = true
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
    if (!this.#enabled || this.#target.reading()) return // the next check compares again
    // A write after two equal checks has another time, however coarse the kernel's file clock.
    this.#comparedStamp = isSettled ? stamp : ''
    this.#comparedAt = now()
    if (changed) this.#target.onChange()
  }
}
