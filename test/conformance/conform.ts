import { describe, expect, test } from 'vitest'
import { type Bench, play } from './play.ts'
import { nameOf } from './row.ts'
import { sections } from './rows/all.ts'

/** Has every row be a test on this bench. One that cannot be played there says why; one that is known to fail has to fail. */
export const conform = (bench: Bench): void => {
  for (const [section, rows] of Object.entries(sections))
    describe(section, () => {
      for (const row of rows) {
        const because = row.notOn?.[bench.name]
        const name = because === undefined ? nameOf(row) : `${nameOf(row)} (not here: ${because})`
        test.skipIf(because !== undefined)(name, async () => {
          const faults = await play(row, bench)

          if (row.knownFailing === undefined) expect(faults.join('\n')).toBe('')
          else expect(faults, `mended? it was red for: ${row.knownFailing}`).not.toEqual([])
        })
      }
    })
}
