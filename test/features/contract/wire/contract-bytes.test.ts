import { test } from 'vitest'
import { expectUntouched } from '../../../wire/contract-bytes.ts'

test.each(['off', 'report', 'enforce'] as const)('%s: 30 requests and responses pass byte for byte', async (mode) => {
  await expectUntouched(mode, 30)
})
