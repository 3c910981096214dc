import { expect, test } from 'vitest'
import { expectGolden, runInProcess, transcript } from '../../golden/golden.ts'

const files: readonly (readonly [file: string, code: number])[] = [
  ['gateway.yaml', 0],
  ['plain.yaml', 0],
  ['candidate.yaml', 0],
  ['twice.yaml', 0],
  ['broken-keys.yaml', 1],
  ['broken-tab.yaml', 1],
  ['broken-yaml.yaml', 1],
  ['empty.yaml', 1],
  ['missing.yaml', 2],
]

test.each(files)('check of %s prints its golden file', async (file, code) => {
  const args = ['check', file]

  const ran = await runInProcess(...args)

  expect(ran.code).toBe(code)
  expectGolden(`check-${file.replace('.yaml', '.txt')}`, transcript(args, ran))
})

test.each(files)('and as JSON', async (file, code) => {
  const ran = await runInProcess('check', file, '--format', 'json')

  expect(ran.code).toBe(code)
  expect(JSON.parse(ran.out)).toMatchObject({ ok: code === 0, file })
  expectGolden(`check-${file.replace('.yaml', '.json')}`, ran.out)
})
