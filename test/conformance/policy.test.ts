import { describe, expect, test } from 'vitest'
import { policyBench } from './benches/policy.ts'
import { play } from './play.ts'
import { nameOf } from './row.ts'
import { sections } from './rows/all.ts'

const bench = policyBench()

describe('the policy keeps what is required of a shared cache', () => {
  for (const [section, rows] of Object.entries(sections))
    describe(section, () => {
      for (const row of rows) {
        const because = row.notOn?.policy
        test.skipIf(because !== undefined)(
          because === undefined ? nameOf(row) : `${nameOf(row)} (not here: ${because})`,
          async () => {
            const faults = await play(row, bench)

            if (row.knownFailing === undefined) expect(faults).toEqual([])
            else expect(faults, `mended? it was red for: ${row.knownFailing}`).not.toEqual([])
          },
        )
      }
    })
})
