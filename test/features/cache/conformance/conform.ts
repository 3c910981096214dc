import { describe, expect, test } from 'vitest'
import { type Bench, play } from './play.ts'
import { getRowName } from './row.ts'
import { sections } from './rows/all.ts'

/**
 * Makes every row a test on this bench. A row that cannot be played there says why; a row that is known to fail has to
 * fail.
 */
export const conform = (bench: Bench): void => {
  for (const [section, rows] of Object.entries(sections))
    describe(section, () => {
      for (const row of rows) {
        const because = row.notOn?.[bench.name]
        const name = because === undefined ? getRowName(row) : `${getRowName(row)} (not here: ${because})`
        test.skipIf(because !== undefined)(name, async () => {
          const faults = await play(row, bench)

          if (row.knownFailing === undefined) expect(faults.join('\n')).toBe('')
          else expect(faults, `fixed? it was red for: ${row.knownFailing}`).not.toEqual([])
        })
      }
    })
}
