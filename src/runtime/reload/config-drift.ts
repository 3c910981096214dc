import { settlesWithin } from '../../clock.ts'
import { haveFilesChanged } from '../../config/load/source-files.ts'
import type { Reloader } from './reloader.ts'

// A file system that does not respond by then is not waited for.
const maxWaitMs = 1000

/**
 * Tells whether the file, or a file that it refers to, has changed since it was last read. True as well when that
 * cannot be found out.
 */
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
