import { describe, expect, test } from 'vitest'
import { policyBench } from './benches/policy.ts'
import { mutants } from './mutants.ts'
import { play } from './play.ts'
import type { Row } from './row.ts'
import { rows } from './rows/all.ts'

const played = rows.filter(({ notOn, knownFailing }) => notOn?.policy === undefined && knownFailing === undefined)

const sectionOf = ({ rfc, section }: Row): string => `${rfc} §${section}`

describe('the suite detects a policy that', () => {
  for (const { what, section, parts } of mutants)
    test(what, async () => {
      const bench = policyBench(parts)
      const red = new Set<string>()

      for (const row of played) if ((await play(row, bench)).length > 0) red.add(sectionOf(row))

      expect([...red]).toContain(section)
    })
})
