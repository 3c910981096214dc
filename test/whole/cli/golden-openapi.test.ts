import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { allOperations } from '../../../src/operations.ts'
import { expectGolden, runInProcess } from '../../golden/golden.ts'

// The file that the gateway comes with, seen from the folder where the commands run.
const shipped = ['--config', '../../../config/gateway.yaml']

test('openapi of the file that the gateway comes with prints its golden file, and the same as JSON', async () => {
  const yaml = await runInProcess('openapi', ...shipped)
  const json = await runInProcess('openapi', ...shipped, '--format', 'json')

  expect([yaml.code, json.code]).toEqual([0, 0])
  const document = parse(yaml.out)
  const nine = Object.entries(document.paths as Readonly<Record<string, object>>)
  expect(nine.map(([path, methods]) => `${Object.keys(methods).join().toUpperCase()} ${path}`)).toEqual(
    allOperations.map(({ method, path }) => `${method} ${path}`),
  )
  const others = /^ {2}\/(?!valuation\/score|market\/insights)[\s\S]*?(?=^ {2}\/|^components)/gm
  expectGolden('openapi.yaml', yaml.out.replace(/^ {2}version: .*$/m, '  version: ·').replace(others, ''))
  expect(JSON.parse(json.out)).toEqual(document)
})
