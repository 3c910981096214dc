import { now } from '../clock.ts'
import type { ReloadConfig } from './config.ts'

/** What a watch asks about the files of a configuration, and what it reports to. */
interface Watched {
  /** Reads what `stat` says of the files now. */
  stamp(): Promise<string>
  /** Compares the contents of the files with what was read of them. */
  changed(): Promise<boolean>
  /** Whether the files are being read just now: what was read is not known yet, and nothing can be compared with it. */
  reading(): boolean
  onChange(): void
}

const lookEveryMs = 250
// A save is several writes. It has settled when two looks so far apart see the same. One that goes on longer is not
// waited for.
const settleMs = 50
const settleAtMostMs = 500

/**
 * Watches the files of a configuration. It asks `stat` four times a second, and compares contents once that says
 * something new. It compares them every `reload.poll` as well, for a file system with coarse times. One look at a time:
 * a file system that hangs is asked once.
 */
export class Watch {
  readonly #watched: Watched
  #on = false
  #pollMs: number | null = null
  #timer: NodeJS.Timeout | null = null
  #looking = false
  /** What the last look saw. */
  #seen = ''
  /** What `stat` said of the contents that were compared last; empty: they were being written. */
  #compared = ''
  #comparedAt = 0
  #stirredAt: number | null = null

  constructor(watched: Watched) {
    this.#watched = watched
  }

  /** Begins to watch, or goes on in another way. */
  follow({ watch, poll }: Pick<ReloadConfig, 'watch' | 'poll'>): void {
    this.#on = watch
    this.#pollMs = poll
    this.#lookIn(settleMs)
  }

  close(): void {
    this.follow({ watch: false, poll: null })
  }

  #lookIn(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = this.#on && !this.#looking ? setTimeout(this.#look, ms).unref() : null
  }

  readonly #look = async (): Promise<void> => {
    this.#looking = true
    await this.#compare()
    this.#looking = false
    this.#lookIn(this.#stirredAt === null ? Math.min(lookEveryMs, this.#pollMs ?? lookEveryMs) : settleMs)
  }

  async #compare(): Promise<void> {
    if (this.#watched.reading()) return
    const stamp = await this.#watched.stamp()
    const isSettled = stamp === this.#seen
    this.#seen = stamp
    const isKnown = isSettled && stamp === this.#compared
    const isDue = this.#pollMs !== null && now() - this.#comparedAt >= this.#pollMs
    if (isKnown && !isDue) return
    this.#stirredAt ??= now()
    if (!isSettled && now() - this.#stirredAt < settleAtMostMs) return
    const changed = await this.#watched.changed()
    this.#stirredAt = null
    if (!this.#on || this.#watched.reading()) return // and compared again at the next look
    // What is written after two looks that saw the same has another time, however coarse the kernel's clock of files.
    this.#compared = isSettled ? stamp : ''
    this.#comparedAt = now()
    if (changed) this.#watched.onChange()
  }
}
