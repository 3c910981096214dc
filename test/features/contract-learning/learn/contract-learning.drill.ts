import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hiddenContract } from './hidden-schema.ts'
import { learnHiddenContract } from './learn-hidden-contract.ts'

/** How many interfaces are learned. */
const contracts = Number(process.env.CONTRACTS ?? 2)

/** How many requests a client sends that means harm. */
const hostileRequests = Number(process.env.HOSTILE ?? 2_000)

test('of 2,000 requests and responses each, a draft accepts all, and at most 5 % of broken ones', {
  timeout: 600_000,
}, () => {
  let [mutants, accepted] = [0, 0]
  fc.assert(
    fc.property(hiddenContract, fc.integer(), fc.integer({ min: 1, max: 4 }), (contract, seed, learners) => {
      const learned = learnHiddenContract(contract, { messages: 2000, seed, learners })

      expect(learned.rejectedMessages).toEqual([])
      expect(learned.acceptedMutants.length / learned.mutants).toBeLessThanOrEqual(0.05)
      mutants += learned.mutants
      accepted += learned.acceptedMutants.length
    }),
    { numRuns: contracts, endOnFailure: true },
  )

  console.log(`${mutants} broken messages, of which the drafts accept ${accepted}`)
  expect(mutants).toBe(contracts * 2000)
})

const runChild = (name: string, ...args: readonly string[]) =>
  promisify(execFile)(process.execPath, ['--expose-gc', fileURLToPath(new URL(name, import.meta.url)), ...args])

test.each(['any', 'full'])(
  `after ${hostileRequests} hostile requests a learner takes at most 8 MiB (%s)`,
  { timeout: 900_000 },
  async (kind) => {
    const { stdout } = await runChild('hostile-child.ts', String(hostileRequests), kind)

    console.log(stdout)
    const { heap, most, serialized } = JSON.parse(stdout)
    expect(Math.max(heap, most, serialized)).toBeLessThan(8 * 2 ** 20)
    expect(serialized).toBeGreaterThan(100_000)
  },
)

test('the heap of a process that has learned holds no secret of the traffic', { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'learned-'))
  const files = [join(folder, 'secrets'), join(folder, 'learned.heapsnapshot')] as const

  const { stdout } = await runChild('heap-child.ts', ...files)

  const [secrets, heap] = files.map((file) => readFileSync(file, 'latin1'))
  const all = secrets?.trim().split('\n') ?? []
  expect([all.length, stdout]).toEqual([20, '9 operations learned\n'])
  expect(heap).toContain('branchRegionOfLender')
  expect(all.filter((secret) => heap?.includes(secret))).toEqual([])
  rmSync(folder, { recursive: true })
})
