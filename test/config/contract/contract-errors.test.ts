import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadContract } from '../../../src/config/contract/load-contract.ts'
import { formatProblems } from '../../../src/config/problem.ts'

const folder = fileURLToPath(new URL('broken/', import.meta.url))
const golden = fileURLToPath(new URL('golden/broken.txt', import.meta.url))
const files = readdirSync(folder).toSorted()

test('each broken file is told with line, column and remedy', () => {
  const printed = files
    .map((name) => {
      const { problems } = loadContract(folder, name)
      return `# ${name}\n${formatProblems(problems.map((each) => ({ ...each, file: each.file.replace(folder, '') })))}`
    })
    .join('\n')
  if (process.env.UPDATE_GOLDEN !== undefined) writeFileSync(golden, printed)

  expect(printed).toBe(readFileSync(golden, 'utf8'))
  expect(files.length).toBeGreaterThanOrEqual(40)
})

test.each(files)('%s is refused', (name) => {
  const { contract, problems } = loadContract(folder, name)

  expect(contract).toBeNull()
  expect(problems).not.toEqual([])
})
