import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { expectGolden, runInProcess } from '../../golden/golden.ts'

// The file that the gateway comes with, seen from the folder where the commands run.
const shipped = ['--config', '../../../config/gateway.yaml']

test('openapi of the file that the gateway comes with prints its golden file', async () => {
  const ran = await runInProcess('openapi', ...shipped)

  expect(ran.code).toBe(0)
  expectGolden('openapi.yaml', ran.out.replace(/^ {2}version: .*$/m, '  version: ·'))
})

test('and the same as JSON', async () => {
  const yaml = await runInProcess('openapi', ...shipped)
  const json = await runInProcess('openapi', ...shipped, '--format', 'json')

  expect(json.code).toBe(0)
  expect(JSON.parse(json.out)).toEqual(parse(yaml.out))
})
