import { resolve } from 'node:path'
import type { ReportedConfig } from '../../config/diff/diff-reports.ts'
import type { LoadedConfig, LoadResult } from '../../config/load/load.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'

export interface AppliedConfig extends ReportedConfig {
  readonly warnings: readonly ConfigProblem[]
  readonly sources: LoadResult['sources']
  readonly provenance: ProvenanceMap
}

/** The contents of all configuration files as last read, valid or not. */
export class LastReading {
  readonly #file: string
  readonly #load: () => Promise<LoadResult>
  #sources: LoadResult['sources']
  #hash: string | null
  #isUnderWay = false

  /** `load` never throws. */
  constructor(file: string, { sources, config }: LoadedConfig, load: () => Promise<LoadResult>) {
    this.#file = file
    this.#load = load
    this.#sources = sources
    this.#hash = config.hash
  }

  get sources(): LoadResult['sources'] {
    return this.#sources
  }

  /** The hash of the configuration. Null: it cannot run. */
  get hash(): string | null {
    return this.#hash
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay
  }

  /** Never throws. */
  async repeat(): Promise<LoadResult> {
    this.#isUnderWay = true
    const loaded = await this.#load().finally(() => {
      this.#isUnderWay = false
    })
    this.#sources = 'isCutShort' in loaded ? this.#withEarlier(loaded.sources) : loaded.sources
    this.#hash = loaded.ok ? loaded.config.hash : null
    return loaded
  }

  /** After a load that was cut short, keeps watching the earlier files too: the fix may be in any of them. */
  #withEarlier(read: LoadResult['sources']): LoadResult['sources'] {
    return [...read, ...this.#sources.filter(({ file }) => read.every((each) => each.file !== file))]
  }

  /**
   * Lists the files that differ from the running configuration. A file that it does not name is left out: the edit is
   * in the file that names it.
   */
  listDiffering(running: AppliedConfig): readonly string[] {
    if (this.#hash === running.config.hash) return []
    const contents = new Map(running.sources.map(({ file, digest }) => [file, digest]))
    const differing = this.#sources.filter(
      ({ file, digest }) => digest === null || (contents.has(file) && contents.get(file) !== digest),
    )
    return differing.length > 0 ? differing.map(({ file }) => file) : [resolve(this.#file)]
  }
}
