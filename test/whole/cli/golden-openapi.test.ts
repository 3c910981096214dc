import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { allOperations } from '../../../src/operations.ts'
import { expectGolden, runInProcess } from '../../golden/golden.ts'

// The file that the gateway comes with, seen from the folder where the commands run.
const shipped = ['--config', '../../../config/gateway.yaml']

/** Leaves one of the nine paths and one of the responses, and of the others what they say of each error. */
const abridged = (text: string): string => {
  const paths = /^ {2}\/(?!valuation\/score)[\s\S]*?(?=^ {2}\/|^components)/gm
  const [before = '', responses = ''] = text
    .replace(/^ {2}version: .*$/m, '  version: ·')
    .replace(paths, '')
    .split('\n  responses:\n')
  const kept = responses.replace(/^ {4}(?!BadRequest)\w[\s\S]*?(?=^ {4}\w|^$(?![\s\S]))/gm, '')
  const errors = [...responses.matchAll(/^ +(- `.*)$/gm)].map(([, line]) => `# ${line}\n`)
  return `${before}\n  responses:\n${kept}# Every error of the gateway:\n${errors.join('')}`
}

test('openapi of the file that the gateway comes with prints its golden file, and the same as JSON', async () => {
  const yaml = await runInProcess('openapi', ...shipped)
  const json = await runInProcess('openapi', ...shipped, '--format', 'json')

  expect([yaml.code, json.code]).toEqual([0, 0])
  const document = parse(yaml.out)
  const nine = Object.entries(document.paths as Readonly<Record<string, object>>)
  expect(nine.map(([path, methods]) => `${Object.keys(methods).join().toUpperCase()} ${path}`)).toEqual(
    allOperations.map(({ method, path }) => `${method} ${path}`),
  )
  expectGolden('openapi.yaml', abridged(yaml.out))
  expect(JSON.parse(json.out)).toEqual(document)
})
