import { resolve } from 'node:path'
import { settlesWithin } from '../../clock.ts'
import { findChangedFiles } from '../../config/load/source-files.ts'
import type { Reloader } from './reloader.ts'

// A file system that does not respond by then is not waited for.
const maxWaitMs = 1000

/**
 * Lists the files that have changed since they were last read: the file, and those that it refers to. The file itself,
 * when that cannot be found out.
 */
export const findDriftedFiles = async (reloader: Reloader): Promise<readonly string[]> => {
  for (;;) {
    const { sources } = reloader.lastReading
    let changed: readonly string[] = [resolve(reloader.file)]
    const compared = findChangedFiles(sources).then((found) => {
      changed = found
    })
    await settlesWithin(maxWaitMs, compared)
    if (sources === reloader.lastReading.sources) return changed // else a reload has read it meanwhile
  }
}

/**
 * Lists the files that say something else than what runs: those that were read so, and those that have changed since
 * (`drifted`).
 */
export const listDifferingFiles = (reloader: Reloader, drifted: readonly string[]): readonly string[] => [
  ...new Set([...reloader.lastReading.listDiffering(reloader.running), ...drifted]),
]
