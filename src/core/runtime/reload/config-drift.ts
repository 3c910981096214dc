import { resolve } from 'node:path'
import { findChangedFiles } from '../../config/load/source-files.ts'
import { settlesWithin } from '../../lib/clock.ts'
import type { LastReading } from './last-reading.ts'
import type { Reloader } from './reloader.ts'

// A file system that does not respond by then is not waited for.
const maxWaitMs = 1000

type Reading = Pick<LastReading, 'sources'>

interface Comparison extends Reading {
  readonly found: Promise<readonly string[]>
}

/** The last comparison of each reading that is under way. */
const underWay = new WeakMap<Reading, Comparison>()

/**
 * Lists the files that have changed since they were last read: the file, and those that it refers to. The file itself,
 * when that cannot be found out.
 */
export const findDriftedFiles = async (
  reloader: Pick<Reloader, 'file'> & { readonly lastReading: Reading },
  compare = findChangedFiles,
): Promise<readonly string[]> => {
  for (;;) {
    const { sources } = reloader.lastReading
    let changed: readonly string[] = [resolve(reloader.file)]
    const compared = compareOnce(reloader.lastReading, compare).then((found) => {
      changed = found
    })
    await settlesWithin(maxWaitMs, compared)
    if (sources === reloader.lastReading.sources) return changed // else a reload has read it meanwhile
  }
}

/**
 * Compares the files of a reading, or waits for the comparison under way. One that hangs holds a thread of Node's pool,
 * so that of a later reading waits for it.
 */
const compareOnce = (reading: Reading, compare: typeof findChangedFiles): Promise<readonly string[]> => {
  const { sources } = reading
  const known = underWay.get(reading)
  if (known?.sources === sources) return known.found
  const next = (): Promise<readonly string[]> => compare(sources)
  const found = (known === undefined ? next() : known.found.then(next, next)).finally(() => {
    if (underWay.get(reading) === comparison) underWay.delete(reading)
  })
  const comparison = { sources, found }
  underWay.set(reading, comparison)
  return found
}

/**
 * Lists the files that say something else than what runs: those that were read so, and those that have changed since
 * (`drifted`).
 */
export const listDifferingFiles = (reloader: Reloader, drifted: readonly string[]): readonly string[] => [
  ...new Set([...reloader.lastReading.listDiffering(reloader.running), ...drifted]),
]
