/** Documents of banks as contracts. They lie beside the project, and are never copied into it. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { asPlainObject, type PlainObject } from '../../../../src/core/lib/plain-object.ts'
import { allOperations } from '../../../../src/operations.ts'
import { load } from './loading.ts'

const folder = new URL('../../../../../shared/data/contracts/', import.meta.url)

/** Lists the operations of a document, without the parameters of their paths: those of the nine have none. */
const operationsOf = (source: PlainObject): readonly PlainObject[] => {
  const resolve = (value: unknown): PlainObject => {
    const { $ref } = asPlainObject(value)
    const segments = typeof $ref === 'string' ? $ref.slice(2).split('/') : null
    return asPlainObject(segments?.reduce((at, name) => asPlainObject(at)[name], source as unknown) ?? value)
  }
  const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
  return Object.values(asPlainObject(source.paths)).flatMap((stated) => {
    const item = asPlainObject(stated)
    return ['get', 'post', 'put', 'patch', 'delete'].flatMap((method) => {
      if (item[method] === undefined) return []
      const operation = asPlainObject(item[method])
      const parameters = [...listOf(item.parameters), ...listOf(operation.parameters)]
      return [{ ...operation, parameters: parameters.filter((each) => resolve(each).in !== 'path') }]
    })
  })
}

test.for([
  ['ob-account-info.yaml', 29],
  ['ob-payment-initiation.yaml', 41],
  ['ob-vrp.yaml', 9],
  ['cds_banking.json', 19],
  ['bg.yaml', 38],
] as const)('%s loads without an error, its %i operations at the paths of the nine', ([name, count], { skip }) => {
  const file = new URL(name, folder)
  if (!existsSync(file)) skip(`skipped: ${name} is not beside the project`)
  const source = asPlainObject(parse(readFileSync(file, 'utf8')))
  const operations = operationsOf(source)
  const problems: unknown[] = []
  for (let first = 0; first < operations.length; first += allOperations.length) {
    const paths = allOperations.flatMap(({ method, path }, i) => {
      const operation = operations[first + i]
      return operation === undefined ? [] : [[path, { [method.toLowerCase()]: operation }]]
    })
    const loaded = load({ ...source, paths: Object.fromEntries(paths) })
    problems.push(...loaded.problems)
    expect(Object.keys(loaded.contract?.operations ?? {})).toHaveLength(paths.length)
  }

  expect([operations.length, problems]).toEqual([count, []])
  console.log(`${name}: ${count} operations, no error`)
})
