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

export class LastReading {
  sources: LoadResult['sources']
  /** Null: the configuration cannot run. */
  hash: string | null
  isUnderWay = false
  readonly #file: string
  readonly #load: () => Promise<LoadResult>

  constructor(file: string, { sources, config }: LoadedConfig, load: () => Promise<LoadResult>) {
    this.#file = file
    this.#load = load
    this.sources = sources
    this.hash = config.hash
  }

  async repeat(): Promise<LoadResult> {
    this.isUnderWay = true
    const loaded = await this.#load().finally(() => {
      this.isUnderWay = false
    })
    // The fix of a load that was cut short may be in any of the earlier files, so they are watched too.
    const earlier = 'isCutShort' in loaded ? this.sources : []
    const isNew = ({ file }: LoadResult['sources'][number]) => loaded.sources.every((each) => each.file !== file)
    this.sources = [...loaded.sources, ...earlier.filter(isNew)]
    this.hash = loaded.ok ? loaded.config.hash : null
    return loaded
  }

  /** Leaves out files that the running configuration does not name: the edit is in the file that names them. */
  listDiffering(running: AppliedConfig): readonly string[] {
    if (this.hash === running.config.hash) return []
    const contents = new Map(running.sources.map(({ file, digest }) => [file, digest]))
    const differing = this.sources.filter(
      ({ file, digest }) => digest === null || (contents.has(file) && contents.get(file) !== digest),
    )
    return differing.length > 0 ? differing.map(({ file }) => file) : [resolve(this.#file)]
  }
}
