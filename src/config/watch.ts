import { type FSWatcher, watch } from 'node:fs'
import { namesByFolder } from './folders.ts'

/** Is what is watched, and who is told. */
interface Watched {
  /** Lists the files that the configuration was last read from. */
  files(): readonly string[]
  /** Tells whether one of them holds something else now than when it was read. */
  changed(): boolean
  onChange(): void
}

// A save is several events. They have settled when none came for this long; whoever never stops writing is not waited for.
const settleMs = 50
const settleAtMostMs = 500

/**
 * Watches the files of a configuration: their folders, since an editor's save is often a rename, and their contents every `pollMs`, since
 * neither a file that is mounted by itself nor a network file system tells of a change made elsewhere. What it goes by is contents,
 * never times or names.
 */
export class Watch {
  readonly #watched: Watched
  readonly #folders = new Map<string, FSWatcher>()
  #names: ReadonlyMap<string, ReadonlySet<string>> = new Map()
  readonly #poll: NodeJS.Timeout | null
  #settle: NodeJS.Timeout | null = null
  #latest: NodeJS.Timeout | null = null

  constructor(watched: Watched, pollMs: number | null) {
    this.#watched = watched
    this.#arm()
    // What was written since the files were read has told nobody.
    this.#settle = setTimeout(this.#look, settleMs).unref()
    this.#poll = pollMs === null ? null : setInterval(this.#look, pollMs).unref()
  }

  close(): void {
    this.#calm()
    if (this.#poll !== null) clearInterval(this.#poll)
    for (const watcher of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  /** Watches the folders that matter now: the files may be others than before, or links may lead elsewhere. */
  #arm(): void {
    this.#names = namesByFolder(this.#watched.files())
    for (const [folder, watcher] of this.#folders) {
      if (this.#names.has(folder)) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const folder of this.#names.keys()) if (!this.#folders.has(folder)) this.#open(folder)
  }

  #open(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => this.#stir(folder, name))
      // A folder that was removed, or too many watchers: the contents are still compared, only not as soon.
      watcher.on('error', () => this.#drop(folder, watcher))
      this.#folders.set(folder, watcher)
    } catch {
      // Not there or not readable: compared as above, and tried again at each look.
    }
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close()
    if (this.#folders.get(folder) === watcher) this.#folders.delete(folder)
  }

  #stir(folder: string, name: string | null): void {
    if (name !== null && this.#names.get(folder)?.has(name) !== true) return
    if (this.#settle !== null) clearTimeout(this.#settle)
    this.#settle = setTimeout(this.#look, settleMs).unref()
    this.#latest ??= setTimeout(this.#look, settleAtMostMs).unref()
  }

  #calm(): void {
    if (this.#settle !== null) clearTimeout(this.#settle)
    if (this.#latest !== null) clearTimeout(this.#latest)
    this.#settle = null
    this.#latest = null
  }

  readonly #look = (): void => {
    this.#calm()
    this.#arm()
    if (this.#watched.changed()) this.#watched.onChange()
  }
}
