import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programCommand } from '../../../../../src/core/lib/program.ts'
import { findProblems, folderWith, sandbox } from '../../../../core/config/helper.ts'

/** The problems of a configuration beside these files, each with the name of its file and its place. */
const problemsOf = (text: string, files: Readonly<Record<string, string>> = {}) => {
  const folder = folderWith(files)
  return findProblems(`${sandbox}\n${text}`, {}, join(folder, 'gateway.yaml')).map((problem) => ({
    ...problem,
    file: problem.file.replace(`${folder}/`, ''),
  }))
}

test('a contract that cannot be read is a problem of the line that names it', () => {
  expect(problemsOf('contract:\n  file: contrat.yaml', { 'contract.yaml': '' })).toEqual([
    {
      file: 'gateway.yaml',
      line: 3,
      column: 9,
      path: 'contract.file',
      message: 'the contract cannot be read: no such file',
      expected: 'an OpenAPI document of at most 8MiB',
      found: '"contrat.yaml"',
      hint: `a relative path starts at the folder of this file; ${programCommand()} contract draft prints one`,
    },
  ])
})

test('problems of the configuration and of its contract are told at once', () => {
  const problems = problemsOf('contract: { file: contract.yaml, sample: many }\nlimit: {}', {
    'contract.yaml': 'openapi: 3.1.1\npaths: { /valuation/score: { put: { responses: {} } } }',
  })

  expect(problems.map(({ file, path }) => `${file} ${path}`)).toEqual([
    'gateway.yaml contract.sample',
    'gateway.yaml limit',
    'contract.yaml paths."/valuation/score".put',
  ])
})
