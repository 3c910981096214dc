import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findChangedFiles, readSourceFile } from '../../../../src/core/config/load/source-files.ts'
import { folderWith } from '../helper.ts'

test('a file of the largest size is unchanged until its contents differ', async () => {
  const file = join(folderWith({ key: 'x'.repeat(100) }), 'key')

  expect([
    await findChangedFiles([await readSourceFile(file, 100)]),
    await findChangedFiles([await readSourceFile(file, 99)]),
  ]).toEqual([[], []])
  expect((await readSourceFile(file, 100)).digest).toMatch(/^[0-9a-f]{64}$/)
})
