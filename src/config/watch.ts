import { type FSWatcher, statSync, watch } from 'node:fs'
import { basename } from 'node:path'
import { namesByFolder } from './folders.ts'
import type { ReloadConfig } from './operating-config.ts'

/** Is what is watched, and who is told. */
interface Watched {
  /** Lists the files that the configuration was last read from. */
  files(): readonly string[]
  /** Tells whether one of them holds something else now than when it was read. */
  changed(): Promise<boolean>
  /** Tells whether they are being read just now: what was read is not known yet, and nothing can be compared with it. */
  reading(): boolean
  onChange(): void
}

/** Is a folder that is watched. */
interface Folder {
  readonly watcher: FSWatcher
  /** Tells it from another folder that takes its name. */
  readonly identity: string | null
}

// A save is several events. They have settled when none came for this long; whoever never stops writing is not waited for.
const settleMs = 50
const settleAtMostMs = 500

/**
 * Watches the files of a configuration: their folders, since an editor's save is often a rename, and their contents at intervals, since
 * neither a file that is mounted by itself nor a network file system tells of a change made elsewhere. What it goes by is contents,
 * never times or names.
 */
export class Watch {
  readonly #watched: Watched
  readonly #folders = new Map<string, Folder>()
  #names: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  #on = false
  #pollMs: number | null = null
  #poll: NodeJS.Timeout | null = null
  #settle: NodeJS.Timeout | null = null
  #latest: NodeJS.Timeout | null = null
  /** Whether a look came while the files were being read, or while another look went on. */
  #missed = false
  #looking = false

  constructor(watched: Watched) {
    this.#watched = watched
  }

  /** Begins to watch, or goes on in another way; what it has heard of since the files were read is not forgotten. */
  follow({ watch: on, pollMs }: Pick<ReloadConfig, 'watch' | 'pollMs'>): void {
    this.#on = on
    this.#pollEvery(on ? pollMs : null)
    if (on) return this.#arm()
    this.#calm()
    for (const [folder, { watcher }] of this.#folders) this.#drop(folder, watcher)
  }

  close(): void {
    this.follow({ watch: false, pollMs: null })
  }

  /** Takes over what has been read: the files may be others than before, and what they were changed to meanwhile has not been compared. */
  caughtUp(): void {
    if (!this.#on) return
    this.#arm()
    // Only then: a file that is another each time it is read, such as one in /proc, would be read without end.
    if (this.#missed) this.#soon()
  }

  #pollEvery(ms: number | null): void {
    if (ms === this.#pollMs) return
    if (this.#poll !== null) clearInterval(this.#poll)
    this.#pollMs = ms
    this.#poll = ms === null ? null : setInterval(this.#onTime, ms).unref()
  }

  /** Watches the folders that matter now: the files may be others than before, or links may lead elsewhere. */
  #arm(): void {
    this.#names = namesByFolder(this.#watched.files())
    for (const [folder, { watcher, identity }] of this.#folders) {
      if (!this.#names.has(folder) || identityOf(folder) !== identity) this.#drop(folder, watcher)
    }
    for (const folder of this.#names.keys()) if (!this.#folders.has(folder)) this.#open(folder)
  }

  #open(folder: string): void {
    try {
      const identity = identityOf(folder)
      const watcher = watch(folder, { persistent: false }, (_, name) => this.#stir(folder, name))
      // A folder that was removed, or too many watchers: the contents are still compared, only not as soon.
      watcher.on('error', () => this.#drop(folder, watcher))
      this.#folders.set(folder, { watcher, identity })
      this.#soon() // what was written there since the files were read has told nobody
    } catch {
      // Not there or not readable: compared as above, and tried again at each look.
    }
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close()
    if (this.#folders.get(folder)?.watcher === watcher) this.#folders.delete(folder)
  }

  #stir(folder: string, name: string | null): void {
    // Its own name: it has been moved or removed, and another may have taken its place.
    if (name !== null && name !== basename(folder) && this.#names.get(folder)?.has(name) !== true) return
    this.#soon()
    this.#latest ??= setTimeout(this.#onTime, settleAtMostMs).unref()
  }

  #soon(): void {
    if (this.#settle !== null) clearTimeout(this.#settle)
    this.#settle = setTimeout(this.#onTime, settleMs).unref()
  }

  #calm(): void {
    if (this.#settle !== null) clearTimeout(this.#settle)
    if (this.#latest !== null) clearTimeout(this.#latest)
    this.#settle = null
    this.#latest = null
  }

  readonly #onTime = (): void => void this.#look()

  async #look(): Promise<void> {
    this.#calm()
    this.#missed = this.#looking || this.#watched.reading()
    if (this.#missed) return
    this.#looking = true
    const changed = await this.#watched.changed()
    this.#looking = false
    if (!this.#on) return
    this.#arm()
    if (this.#watched.reading()) this.#missed = true
    else if (changed) this.#watched.onChange()
    else if (this.#missed) this.#soon()
  }
}

/** Tells a folder from another of the same name; null: it is not there, or not readable. */
const identityOf = (folder: string): string | null => {
  try {
    const { dev, ino } = statSync(folder, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
