import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findChangedFiles } from '../../../../src/core/config/load/source-files.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { pairWith } from '../../../helpers/table.ts'
import { insights, load, scoring } from './loading.ts'

const referringTo = ($ref: string, more: object = {}) => scoring({ $ref }, more)
const inSchema = (name: string) => `#/components/schemas/${name}`

const secret = JSON.stringify({ Asset: { type: 'object', title: 'a secret of the machine' } })

/** Loads a contract of a folder with another one beside it, and returns the message of its only problem. */
const messageOf = (reference: string, prepare: (folder: string) => void = () => {}): string | undefined => {
  const parent = folderWith({ 'secret.json': secret })
  const folder = join(parent, 'contract')
  mkdirSync(folder)
  writeFileSync(join(folder, 'contract.json'), JSON.stringify(referringTo(reference)))
  prepare(folder)

  const { contract, problems } = loadContract(folder, 'contract.json')

  expect([contract, problems.length]).toEqual([null, 1])
  expect(JSON.stringify(problems)).not.toContain('a secret of the machine')
  return problems[0]?.message
}

const outside = 'the reference leads out of the folder of the contract'

describe('a reference leads nowhere but into the folder', () => {
  const noPath = 'the reference is no relative path'

  test.each([
    ['another scheme', outside, ['file:///etc/passwd', 'data:application/json,{}']],
    ['another host', outside, ['http://127.0.0.1/asset.json', 'https://example.com/asset.json#/Asset']],
    ['another host, by the same scheme', outside, ['//example.com/asset.json']],
    ['above', outside, ['../secret.json#/Asset', '%2e%2e/secret.json#/Asset']],
    ['above, in other ways', outside, ['..%2fsecret.json#/Asset', 'x/../../secret.json']],
    ['from the root, or as Windows writes it', noPath, ['/etc/passwd', '..\\secret.json']],
    ['a broken encoding', 'the percent-encoding of the reference is broken', ['%ZZ.json']],
    ['the folder', 'the file cannot be read: it is a directory', ['.']],
  ])('%s', (_, message, references) => {
    const messages = pairWith(references, (reference) => messageOf(reference))

    expect(messages).toEqual(pairWith(references, () => message))
  })

  test.each([
    ['asset.json#/Asset', '../secret.json', 'asset.json'],
    ['parts/secret.json#/Asset', '..', 'parts'],
  ])('%s, by a symbolic link to %s', (reference, target, name) => {
    expect(messageOf(reference, (folder) => symlinkSync(target, join(folder, name)))).toBe(outside)
  })
})

describe('the files are one document', () => {
  test('links inside the folder are followed, as a mounted ConfigMap has them', () => {
    const folder = folderWith({ 'contract.json': JSON.stringify(referringTo('asset.json#/Asset')) })
    mkdirSync(join(folder, '..2026_01_01'))
    writeFileSync(join(folder, '..2026_01_01', 'asset.json'), secret)
    symlinkSync('..2026_01_01', join(folder, '..data'))
    symlinkSync('..data/asset.json', join(folder, 'asset.json'))

    const { problems, contract } = loadContract(folder, 'contract.json')

    const title = 'a secret of the machine'
    expect(problems).toEqual([])
    expect(contract?.document).toMatchObject({ components: { schemas: { Asset: { title } } } })
  })

  test('a field whose name begins with x- is no extension', () => {
    const headers = { 'x-rate': { schema: { $ref: 'rate.json#/Rate' } } }
    const responses = { 200: { description: 'insights', headers, 'x-note': { $ref: 'nowhere.json' } } }

    const { contract, problems } = load(insights({ responses }), { 'rate.json': '{"Rate":{"type":"integer"}}' })

    expect(problems).toEqual([])
    expect(contract?.operations['market.insights']?.responses[0]?.headers).toMatchObject([
      { name: 'x-rate', types: ['integer'] },
    ])
  })

  test('files refer to each other, back and in circles; names that are taken get a number', () => {
    const { contract, problems, sources } = load(
      referringTo('a.yaml#/Asset', { components: { schemas: { Asset: { type: 'integer' } } } }),
      {
        'a.yaml': `Asset:
  type: object
  properties: { next: { $ref: b.yaml }, count: { $ref: 'contract.json#/components/schemas/Asset' } }`,
        'b.yaml': "oneOf: [{ $ref: 'a.yaml#/Asset' }, { type: 'null' }]",
      },
    )

    expect(problems).toEqual([])
    expect(sources.map(({ file }) => file.split('/').at(-1))).toEqual(['contract.json', 'a.yaml', 'b.yaml'])
    expect(contract?.document).toMatchObject({
      ...referringTo(inSchema('Asset-2')),
      components: {
        schemas: {
          Asset: { type: 'integer' },
          'Asset-2': { properties: { next: { $ref: inSchema('b') }, count: { $ref: inSchema('Asset') } } },
          b: { oneOf: [{ $ref: inSchema('Asset-2') }, { type: 'null' }] },
        },
      },
    })
  })

  test('a problem in a referenced file has its name and line', () => {
    const { problems } = load(referringTo('a.yaml#/Asset'), { 'a.yaml': 'Asset:\n  type: object\n  requried: [id]\n' })

    const file = expect.stringMatching(/\/a\.yaml$/)
    expect(problems).toMatchObject([{ file, line: 3, column: 3, path: 'Asset.requried' }])
  })

  test('more than 64 files are rejected', () => {
    const files = Array.from({ length: 65 }, (_, index) => [`${index}.yaml`, `{ $ref: ${index + 1}.yaml }`])

    expect(load(referringTo('0.yaml'), Object.fromEntries(files)).problems).toMatchObject([
      { message: 'the file cannot be read: the contract has more than 64 files' },
    ])
  })
})

describe('sizes', () => {
  const tooLarge = 'the files of a contract may have 8MiB together'
  const blanks = ' '.repeat(2_200_000)

  test('a document that is too large is rejected before it is parsed', () => {
    const folder = folderWith({ 'contract.json': Buffer.alloc(9_000_000, ' ') })

    expect(loadContract(folder, 'contract.json').unreadable).toBe(tooLarge)
  })

  test('the files are counted together; one that is too large beside the others is unchanged until it would fit', async () => {
    const long = ' '.repeat(5_000_000)
    const { problems, sources } = load(referringTo('a.json', { 'x-long': long }), { 'a.json': `{"title":"${long}"}` })
    const file = sources[1]?.file ?? ''

    expect(problems).toMatchObject([{ message: `the file cannot be read: ${tooLarge}` }])
    expect(await findChangedFiles(sources)).toEqual([])
    writeFileSync(file, '{}')
    expect(await findChangedFiles(sources)).toEqual([file])
  })

  test('YAML over 2 MiB is rejected, JSON is not', () => {
    const json = JSON.stringify(referringTo(inSchema('A'), { components: { schemas: { A: { description: blanks } } } }))
    const folder = folderWith({ 'contract.yaml': `# ${blanks}\n${json}`, 'contract.json': json })

    expect(loadContract(folder, 'contract.yaml').problems).toMatchObject([{ message: 'too large for YAML' }])
    expect(loadContract(folder, 'contract.json').problems).toEqual([])
  })

  test.each([
    ['"tags": [1, 2', ',\n"x": 1}', { expected: 'a comma, or ]', line: 3, column: 4 }],
    ['"y": 1, "x": 2', '}', { expected: 'each name once in an object', line: 2, column: 9 }],
    [`"y": ${'['.repeat(101)}`, `${']'.repeat(101)}}`, { expected: 'at most 100 levels' }],
  ])('JSON over 2 MiB with a fault is told that fault: %s', (start, end, told) => {
    const folder = folderWith({ 'contract.json': `{"x": "${blanks}",\n${start}${end}` })

    expect(loadContract(folder, 'contract.json').problems).toMatchObject([
      { message: 'the file is not JSON, and too large for YAML', ...told },
    ])
  })

  test('aliases that unfold into gigabytes are rejected', () => {
    const levels = Array.from({ length: 12 }, (_, n) => `  x-${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`)
    const folder = folderWith({ 'contract.yaml': `openapi: 3.1.1\ninfo:\n  x-0: &a0 [lol]\n${levels.join('\n')}\n` })
    const { problems } = loadContract(folder, 'contract.yaml')

    expect(problems).toContainEqual(expect.objectContaining({ message: 'too many aliases' }))
  })
})

const isAside = ({ message }: { readonly message: string }) =>
  message.endsWith('(no operation refers to this part of the document)')

test('a mistake in a component that none of the nine refers to is a warning', () => {
  const schemas = {
    Used: { type: 'object', properties: { part: { $ref: inSchema('Part') } } },
    Part: { type: 'strng' },
    Circle: { $ref: inSchema('Circle') },
    Text: 'string',
    Lost: { $ref: inSchema('Nothing') },
  }
  const parameters = { Page: { name: 'page', in: 'query', schema: { pattern: '(' } } }
  const loadWith = (schema: object) => load(scoring(schema, { components: { schemas, parameters } }))

  const unused = loadWith({ type: 'string' })

  expect([unused.problems, unused.contract === null]).toEqual([[], false])
  expect(unused.warnings.filter(isAside)).toHaveLength(4)
  expect(loadWith({ $ref: inSchema('Used') }).problems).toMatchObject([{ path: 'components.schemas.Part.type' }])
  expect(loadWith({ items: { $ref: inSchema('Text') } }).problems).toContainEqual(
    expect.objectContaining({ path: 'components.schemas.Text' }),
  )
})

describe('a mistake in another file', () => {
  const files = {
    'parts.yaml': "Good: { type: string }\nBad: { type: strng }\nDeep: { $ref: 'broken.yaml#/X' }\n",
    'broken.yaml': 'X: {\n',
    'twice.yaml': 'X: { type: string }\nX: { type: string }\n',
    'text.yaml': 'only a text\n',
  }
  const loadWith = ($ref: string, used: object = { type: 'string' }) =>
    load(scoring(used, { components: { schemas: { Unused: { $ref } } } }), files)
  const unusedRef = 'components.schemas.Unused."$ref"'

  test.each([
    ['a schema', 'parts.yaml#/Bad', 'parts.yaml', 'Bad.type'],
    ['a file of a file that cannot be parsed', 'parts.yaml#/Deep', 'broken.yaml', 'X'],
    ['a name that stands twice', 'twice.yaml#/X', 'twice.yaml', 'X'],
    ['a file that is no schema', 'text.yaml', 'text.yaml', ''],
    ['a pointer that leads nowhere', 'parts.yaml#/None', 'contract.json', unusedRef],
    ['a file that is not there', 'none.yaml', 'contract.json', unusedRef],
  ])('is a warning where none of the nine leads to it: %s', (_, reference, file, path) => {
    const unused = loadWith(reference)
    const used = loadWith(reference, { $ref: inSchema('Unused') })

    expect([unused.problems, unused.contract === null]).toEqual([[], false])
    expect(unused.warnings.filter(isAside)).toMatchObject([{ file: expect.stringContaining(`/${file}`), path }])
    expect([used.contract, used.problems.length, used.warnings.filter(isAside)]).toEqual([null, 1, []])
  })

  test.each(['$ref: none.yaml', '$ref: parts.yaml#/None', 'post: { responses: { 2000: {} } }'])(
    'is an error where a path item leads to it by another file: %s',
    (path) => {
      const contract = { openapi: '3.1.1', paths: { '/valuation/score': { $ref: 'path.yaml' } } }

      expect(load(contract, { ...files, 'path.yaml': `${path}\n` }).problems).toMatchObject([
        { file: expect.stringContaining('/path.yaml') },
      ])
    },
  )

  test('a mistake that a used and an unused reference lead to is one error', () => {
    const { problems, warnings } = loadWith('parts.yaml#/Bad', { $ref: 'parts.yaml#/Bad' })

    expect(problems).toMatchObject([{ path: 'Bad.type' }])
    expect(warnings.filter(isAside)).toEqual([])
  })
})
