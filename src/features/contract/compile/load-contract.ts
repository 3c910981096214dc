import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import type { ReadNamedFile } from '../../../core/config/config-part.ts'
import { type ConfigIssue, fileProblem, quote } from '../../../core/config/problem.ts'
import { asPlainObject, isPlainObject } from '../../../core/lib/plain-object.ts'
import { programCommand } from '../../../core/lib/program.ts'
import { errorMessage } from '../../../core/lib/try.ts'
import { allOperations } from '../../../operations.ts'
import type { CompiledContract } from '../check/compiled-contract.ts'
import { bundleDocument } from './bundle/bundle-document.ts'
import type { OpenApiVersion } from './bundle/upgrade-schema.ts'
import { checkSchemas } from './check-schemas.ts'
import { CompileTimeout, compileSchemas, SchemaFault } from './compile-contract.ts'
import { copySchemas, openBundle } from './contract-bundle.ts'
import type { ContractFile } from './contract-file.ts'
import { type ContractFiles, findUsedPlaces, openContractFiles } from './contract-files.ts'
import { type ContractFindings, childOf, createFindings, wrongValue } from './contract-node.ts'
import { readOperations } from './read-operations.ts'
import { isKnownDialect, jsonSchemaDialect } from './schema-keywords.ts'

// Part of the 30 s for the whole load.
const compileLimitMs = 5_000

export const readContract: ReadNamedFile = (folder, name) => {
  const { contract, unreadable, ...rest } = loadContract(folder, name)
  const issue: ConfigIssue = {
    path: ['contract', 'file'],
    message: `the contract cannot be read: ${unreadable}`,
    expected: 'an OpenAPI document of at most 8MiB',
    found: quote(name),
    hint: `a relative path starts at the folder of this file; ${programCommand()} contract draft prints one`,
  }
  return { ...rest, config: { compiledContract: contract }, issues: unreadable === null ? [] : [issue] }
}

/** Never throws. */
export const loadContract = (folder: string, name: string) => {
  const file = resolve(folder, name)
  const findings = createFindings(file)
  const files = openContractFiles(file, findings)
  const main = files.read(file)
  let contract: CompiledContract | null = null
  try {
    for (const problem of typeof main === 'string' ? [] : main.problems) findings.problems.add(problem)
    if (typeof main !== 'string' && main.tree !== undefined) contract = compile(main, files)
  } catch (error) {
    const message = `the contract cannot be compiled: ${errorMessage(error)}`
    findings.settle(() => true)
    if (findings.problems.count() === 0)
      findings.problems.add(fileProblem(file, message, 'a valid contract', 'another one'))
  }
  return {
    contract: findings.problems.count() > 0 ? null : contract,
    unreadable: typeof main === 'string' ? main : null,
    problems: findings.problems.inOrder(file, 'problems'),
    warnings: findings.warnings.inOrder(file, 'warnings'),
    sources: files.sources,
  }
}

const compile = (main: ContractFile, files: ContractFiles): CompiledContract | null => {
  const { findings } = files
  const version = checkVersion(main, findings)
  if (version === null) return null
  const bundle = openBundle(bundleDocument(main, files, version), findings)
  const operations = readOperations(bundle)
  checkSchemas(bundle)
  findings.settle(findUsedPlaces({ file: main, path: ['paths'] }, files.links))
  if (findings.problems.count() > 0) return null
  warnOfMissing(main, operations, findings)
  const { schemas, shared, memberNames } = copySchemas(bundle)
  const digest = hash('sha256', files.sources.map((each) => each.digest).join(), 'hex')
  try {
    const code = compileSchemas(schemas, shared, compileLimitMs)
    return { digest, operations, document: bundle.document, memberNames, ...code }
  } catch (error) {
    if (error instanceof SchemaFault) {
      const [schema] = [...bundle.names].find(([, name]) => name === error.schema) ?? []
      bundle.error(asPlainObject(schema), [], {
        message: 'the schema cannot be compiled',
        expected: 'one that Ajv compiles in its strict mode',
        found: error.message,
        hint: 'write it in fewer levels, or leave keywords out one by one to find which it is',
      })
    }
    if (!(error instanceof CompileTimeout)) throw error
    const limit = `at most ${compileLimitMs / 1000}s`
    const problem = fileProblem(main.file, 'the schemas take too long to compile', limit, 'more')
    findings.problems.add({ ...problem, hint: 'remove schemas that are not needed' })
    return null
  }
}

const checkVersion = (main: ContractFile, findings: ContractFindings): OpenApiVersion | null => {
  const node = { file: main, path: [], value: main.tree }
  if (!isPlainObject(main.tree)) {
    const hint = `begin with openapi: 3.1.1; ${programCommand()} openapi prints one of the nine`
    const expected = 'an OpenAPI document, with openapi: 3.1.1'
    findings.error(node, wrongValue('the contract is no OpenAPI document', expected, main.tree, hint))
    return null
  }
  const { openapi, swagger, jsonSchemaDialect: dialect } = main.tree
  if (dialect !== undefined && !isKnownDialect(dialect)) {
    const issue = wrongValue('the schemas are of another dialect', jsonSchemaDialect, dialect)
    findings.error(childOf(node, 'jsonSchemaDialect'), issue)
  }
  const version = String(openapi)
  const known =
    (['3.0', '3.1', '3.2'] as const).find((each) => version === each || version.startsWith(`${each}.`)) ?? null
  const isWhole = /^\d+\.\d+\.\d+$/.test(version)
  if (known !== null && isWhole) {
    if (known === '3.0')
      findings.warn(childOf(node, 'openapi'), {
        message: 'OpenAPI 3.0 is read as 3.1: what stands beside a $ref, and nullable without a type, is lost',
        expected: 'openapi: 3.1.1',
        found: version,
        hint: 'upgrade the document to be sure that it says what is meant',
      })
    return known
  }
  findings.error(swagger === undefined ? childOf(node, 'openapi') : childOf(node, 'swagger'), {
    message: swagger === undefined ? 'another version of OpenAPI' : 'Swagger 2.0 is not read',
    expected: 'openapi: 3.1.1, 3.0.4 or 3.2.0',
    found: openapi === undefined && swagger === undefined ? 'none' : `${String(openapi ?? swagger)}`.slice(0, 20),
    hint: versionHint(known, swagger),
  })
  return known
}

const versionHint = (known: string | null, swagger: unknown): string => {
  if (swagger !== undefined) return 'convert it, for example by npx swagger2openapi, and see what it makes of types'
  return known === null
    ? 'begin the file with openapi: 3.1.1; the rest of it is checked then'
    : `write all three numbers: ${known}.0`
}

const warnOfMissing = (main: ContractFile, operations: object, findings: ContractFindings): void => {
  const missing = allOperations.filter(({ id }) => !Object.hasOwn(operations, id))
  if (missing.length === 0) return
  const names = missing.map(({ method, path }) => `${method} ${path}`).join(', ')
  findings.warn(
    { file: main, path: ['paths'] },
    {
      message: `${missing.length} of the nine are not in the contract: nothing of them is checked`,
      expected: 'all nine',
      found: `no ${names}`,
      atKey: true,
      hint: `leave it so, or add them without listen.basePath; ${programCommand()} openapi prints their skeletons`,
    },
  )
}
