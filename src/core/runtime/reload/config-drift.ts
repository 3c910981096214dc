import { resolve } from 'node:path'
import { findChangedFiles } from '../../config/load/source-files.ts'
import { settlesWithin } from '../../lib/clock.ts'
import type { LastReading } from './last-reading.ts'
import type { Reloader } from './reloader.ts'

const maxWaitMs = 1000

type Reading = Pick<LastReading, 'sources'>

interface Comparison extends Reading {
  readonly found: Promise<readonly string[]>
}

const underWay = new WeakMap<Reading, Comparison>()

/** If a file system hangs, lists only the configuration file. */
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
    if (sources === reloader.lastReading.sources) return changed
  }
}

/** Joins a comparison under way: a hung one holds a thread of Node's pool, so at most one runs. */
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

export const listDifferingFiles = (reloader: Reloader, drifted: readonly string[]): readonly string[] => [
  ...new Set([...reloader.lastReading.listDiffering(reloader.running), ...drifted]),
]
