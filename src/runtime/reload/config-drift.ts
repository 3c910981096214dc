import { settlesWithin } from '../../clock.ts'
import { haveFilesChanged } from '../../config/load/source-files.ts'
import type { Reloader } from './reloader.ts'

// What a file system that does not answer by then holds is not known.
const maxWaitMs = 1000

/** Tells whether the file, or one that it refers to, holds something else than when it was last read; true as well when there is no telling. */
export const hasDrifted = async (reloader: Reloader): Promise<boolean> => {
  for (;;) {
    const { sources } = reloader
    let changed = true
    const compared = haveFilesChanged(sources).then((found) => {
      changed = found
    })
    await settlesWithin(maxWaitMs, compared)
    if (sources === reloader.sources) return changed // else a reload has read it meanwhile
  }
}
