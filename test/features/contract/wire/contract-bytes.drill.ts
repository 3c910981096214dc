import { test } from 'vitest'
import { expectUntouched } from '../../../wire/contract-bytes.ts'

test.each(['off', 'report', 'enforce'] as const)(
  '%s: 1,000 requests and responses pass byte for byte',
  async (mode) => {
    await expectUntouched(mode, 1000)
  },
  600_000,
)
