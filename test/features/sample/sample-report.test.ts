import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { checkSampleFiles } from '../../../src/features/sample/sample-report.ts'
import { folderWith, sandbox, validConfig } from '../../core/config/helper.ts'
import { sampleContract } from '../../helpers/contract.ts'

const problem = { file: 'samples.json', line: 1, column: 1, path: '', message: 'm', expected: 'e', found: 'f' }

// To read so many takes long.
vi.mock('../../../src/features/sample/read-samples.ts', () => ({
  readSamples: () => ({ samples: [], problems: Array(200_000).fill(problem), unreadable: false }),
}))

test('a file of more samples than a call takes arguments is checked all the same', async () => {
  const file = join(folderWith({ 'contract.json': JSON.stringify(sampleContract) }), 'gateway.yaml')
  const config = validConfig(`${sandbox}\ncontract: { file: contract.json }`, {}, file)

  const { problems, ok } = await checkSampleFiles(['a.json', 'b.json'], config, file)

  expect([problems.length, ok]).toEqual([400_000, false])
})
