import { within } from '../clock.ts'
import { haveChanged } from '../config/sources.ts'
import type { Reloader } from './reloader.ts'

// What a file system that does not answer by then holds is not known.
const withinMs = 1000

/** Tells whether the file, or one that it refers to, holds something else than when it was last read; true as well when there is no telling. */
export const unread = async (reloader: Reloader): Promise<boolean> => {
  for (;;) {
    const { sources } = reloader
    let changed = true
    const compared = haveChanged(sources).then((found) => {
      changed = found
    })
    await within(withinMs, compared)
    if (sources === reloader.sources) return changed // else a reload has read it meanwhile
  }
}
