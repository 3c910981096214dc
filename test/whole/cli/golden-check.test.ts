import { expect, test } from 'vitest'
import { expectGolden, runInProcess, transcript } from '../../golden/golden.ts'

test.each<[file: string, code: number]>([
  ['twice.yaml', 0],
  ['broken-keys.yaml', 1],
  ['missing.yaml', 2],
])('check of %s prints its golden file, and the same as JSON', async (file, code) => {
  const args = ['check', file]

  const text = await runInProcess(...args)
  const json = await runInProcess(...args, '--format', 'json')

  expect([text.code, json.code]).toEqual([code, code])
  expectGolden(`check-${file.replace('.yaml', '.txt')}`, transcript(args, text))
  const { problems, warnings, ...rest } = JSON.parse(json.out)
  expect(rest).toEqual({ ok: code === 0, file, hash: code === 0 ? expect.stringMatching(/^[0-9a-f]{12}$/) : null })
  const places = [...text.out.matchAll(/^(?:warning: )?(\S+:\d+:\d+)/gm)].map(([, place]) => place)
  expect([...warnings, ...problems].map((each) => `${each.file}:${each.line}:${each.column}`)).toEqual(places)
})

test.each([
  ['broken-tab.yaml', 'a tab in the indentation', { path: 'upstreams', line: 3, hint: 'indent with spaces' }],
  ['empty.yaml', 'the file is empty', { path: '', line: 1, expected: 'a map with the key upstreams' }],
])('a problem has each of its parts as JSON: %s', async (file, message, parts) => {
  const { out } = await runInProcess('check', file, '--format', 'json')

  expect(JSON.parse(out).problems).toEqual([
    expect.objectContaining({ ...parts, file, message, column: 1, found: expect.any(String) }),
  ])
})
