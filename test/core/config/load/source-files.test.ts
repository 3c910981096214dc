import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findChangedFiles, readFileWithLimit, readSourceFile } from '../../../../src/core/config/load/source-files.ts'
import { folderWith } from '../helper.ts'

test('a file of the largest size is unchanged until its contents differ', async () => {
  const file = join(folderWith({ key: 'x'.repeat(100) }), 'key')

  expect([
    await findChangedFiles([await readSourceFile(file, 100)]),
    await findChangedFiles([await readSourceFile(file, 99)]),
  ]).toEqual([[], []])
  expect((await readSourceFile(file, 100)).digest).toMatch(/^[0-9a-f]{64}$/)
})

test.skipIf(process.platform !== 'linux')('a file that is said to be empty is read, up to the limit', () => {
  const file = '/proc/version'
  const bytes = readFileSync(file)

  expect(readFileWithLimit(file, bytes.length)).toEqual(bytes)
  expect(readFileWithLimit(file, bytes.length - 1)).toMatchObject({ reason: 'it is too large' })
})
