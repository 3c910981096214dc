import { resolve } from 'node:path'
import { settlesWithin } from '../../clock.ts'
import { findChangedFiles, type SourceFile } from '../../config/load/source-files.ts'
import type { LastReading } from './last-reading.ts'
import type { Reloader } from './reloader.ts'

// A file system that does not respond by then is not waited for.
const maxWaitMs = 1000

/** The comparisons that are under way. */
const pending = new WeakMap<readonly SourceFile[], Promise<readonly string[]>>()

/**
 * Lists the files that have changed since they were last read: the file, and those that it refers to. The file itself,
 * when that cannot be found out.
 */
export const findDriftedFiles = async (
  reloader: Pick<Reloader, 'file'> & { readonly lastReading: Pick<LastReading, 'sources'> },
  compare = findChangedFiles,
): Promise<readonly string[]> => {
  for (;;) {
    const { sources } = reloader.lastReading
    let changed: readonly string[] = [resolve(reloader.file)]
    const compared = compareOnce(sources, compare).then((found) => {
      changed = found
    })
    await settlesWithin(maxWaitMs, compared)
    if (sources === reloader.lastReading.sources) return changed // else a reload has read it meanwhile
  }
}

/** Compares files, or waits for the comparison under way: a file that hangs holds one thread of Node's pool for all. */
const compareOnce = (sources: readonly SourceFile[], compare: typeof findChangedFiles): Promise<readonly string[]> => {
  const known = pending.get(sources)
  if (known !== undefined) return known
  const comparison = compare(sources).finally(() => pending.delete(sources))
  pending.set(sources, comparison)
  return comparison
}

/**
 * Lists the files that say something else than what runs: those that were read so, and those that have changed since
 * (`drifted`).
 */
export const listDifferingFiles = (reloader: Reloader, drifted: readonly string[]): readonly string[] => [
  ...new Set([...reloader.lastReading.listDiffering(reloader.running), ...drifted]),
]
