import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findChangedFiles } from '../../../../src/core/config/load/source-files.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { folderWith } from '../../../core/config/helper.ts'

/** A contract with one reference for the body of a request. */
const referringTo = (reference: string, more: object = {}): string =>
  JSON.stringify({
    openapi: '3.1.1',
    paths: {
      '/valuation/score': {
        post: {
          requestBody: { content: { 'application/json': { schema: { $ref: reference } } } },
          responses: { 200: { description: 'scored' } },
        },
      },
    },
    ...more,
  })

const secret = JSON.stringify({ Asset: { type: 'object', title: 'a secret of the machine' } })

/** Loads a contract of a folder with another one beside it, and returns the message of its only problem. */
const messageOf = (reference: string, prepare: (folder: string) => void = () => {}): string | undefined => {
  const parent = folderWith({ 'secret.json': secret })
  const folder = join(parent, 'contract')
  mkdirSync(folder)
  writeFileSync(join(folder, 'contract.json'), referringTo(reference))
  prepare(folder)

  const { contract, problems } = loadContract(folder, 'contract.json')

  expect([contract, problems.length]).toEqual([null, 1])
  expect(JSON.stringify(problems)).not.toContain('a secret of the machine')
  return problems[0]?.message
}

const outside = 'the reference leads out of the folder of the contract'

describe('a reference leads nowhere but into the folder', () => {
  test.each([
    ['file:///etc/passwd', outside],
    ['http://127.0.0.1/asset.json', outside],
    ['https://example.com/asset.json#/Asset', outside],
    ['//example.com/asset.json', outside],
    ['data:application/json,{}', outside],
    ['../secret.json#/Asset', outside],
    ['%2e%2e/secret.json#/Asset', outside],
    ['..%2fsecret.json#/Asset', outside],
    ['x/../../secret.json', outside],
    ['/etc/passwd', 'the reference is no relative path'],
    ['..\\secret.json', 'the reference is no relative path'],
    ['%ZZ.json', 'the percent-encoding of the reference is broken'],
    ['.', 'the file cannot be read: it is a directory'],
  ])('%s', (reference, message) => {
    expect(messageOf(reference)).toBe(message)
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
    const folder = folderWith({ 'contract.json': referringTo('asset.json#/Asset') })
    mkdirSync(join(folder, '..2026_01_01'))
    writeFileSync(join(folder, '..2026_01_01', 'asset.json'), secret)
    symlinkSync('..2026_01_01', join(folder, '..data'))
    symlinkSync('..data/asset.json', join(folder, 'asset.json'))

    const { problems, contract } = loadContract(folder, 'contract.json')

    expect(problems).toEqual([])
    expect(contract?.document).toMatchObject({
      components: { schemas: { Asset: { title: 'a secret of the machine' } } },
    })
  })

  test('a field whose name begins with x- is no extension', () => {
    const folder = folderWith({
      'contract.json': JSON.stringify({
        openapi: '3.1.1',
        paths: {
          '/market/insights': {
            get: {
              responses: {
                200: {
                  description: 'insights',
                  headers: { 'x-rate': { schema: { $ref: 'rate.json#/Rate' } } },
                  'x-note': { $ref: 'nowhere.json' },
                },
              },
            },
          },
        },
      }),
      'rate.json': JSON.stringify({ Rate: { type: 'integer' } }),
    })

    const { contract, problems } = loadContract(folder, 'contract.json')

    expect(problems).toEqual([])
    expect(contract?.operations['market.insights']?.responses[0]?.headers).toMatchObject([
      { name: 'x-rate', types: ['integer'] },
    ])
  })

  test('files refer to each other, back and in circles; names that are taken get a number', () => {
    const folder = folderWith({
      'contract.json': referringTo('a.yaml#/Asset', { components: { schemas: { Asset: { type: 'integer' } } } }),
      'a.yaml': [
        'Asset:',
        '  type: object',
        '  properties:',
        '    next: { $ref: b.yaml }',
        "    count: { $ref: 'contract.json#/components/schemas/Asset' }",
      ].join('\n'),
      'b.yaml': "oneOf: [{ $ref: 'a.yaml#/Asset' }, { type: 'null' }]",
    })

    const { contract, problems, sources } = loadContract(folder, 'contract.json')

    expect(problems).toEqual([])
    expect(sources.map(({ file }) => file.slice(folder.length + 1))).toEqual(['contract.json', 'a.yaml', 'b.yaml'])
    expect(contract?.document).toMatchObject({
      paths: {
        '/valuation/score': {
          post: {
            requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Asset-2' } } } },
          },
        },
      },
      components: {
        schemas: {
          Asset: { type: 'integer' },
          'Asset-2': {
            properties: { next: { $ref: '#/components/schemas/b' }, count: { $ref: '#/components/schemas/Asset' } },
          },
          b: { oneOf: [{ $ref: '#/components/schemas/Asset-2' }, { type: 'null' }] },
        },
      },
    })
  })

  test('a problem in a referenced file has its name and line', () => {
    const folder = folderWith({
      'contract.json': referringTo('a.yaml#/Asset'),
      'a.yaml': 'Asset:\n  type: object\n  requried: [id]\n',
    })

    const [problem] = loadContract(folder, 'contract.json').problems

    expect(problem).toMatchObject({ file: join(folder, 'a.yaml'), line: 3, column: 3, path: 'Asset.requried' })
  })

  test('more than 64 files are refused', () => {
    const files = Array.from({ length: 65 }, (_, index) => [`${index}.yaml`, `{ $ref: ${index + 1}.yaml }`])
    const folder = folderWith({ 'contract.json': referringTo('0.yaml'), ...Object.fromEntries(files) })

    const { problems } = loadContract(folder, 'contract.json')

    expect(problems.map(({ message }) => message)).toEqual([
      'the file cannot be read: the contract has more than 64 files',
    ])
  })
})

describe('sizes', () => {
  test('a document that is too large is refused before it is parsed', () => {
    const { unreadable } = loadContract(folderWith({ 'contract.json': Buffer.alloc(9_000_000, ' ') }), 'contract.json')

    expect(unreadable).toBe('the files of a contract may have 8MiB together')
  })

  test('the files are counted together; one that is too large beside the others is unchanged until it would fit', async () => {
    const folder = folderWith({
      'contract.json': referringTo('a.json', { 'x-long': ' '.repeat(5_000_000) }),
      'a.json': JSON.stringify({ title: ' '.repeat(5_000_000) }),
    })

    const { problems, sources } = loadContract(folder, 'contract.json')

    expect(problems.map(({ message }) => message)).toEqual([
      'the file cannot be read: the files of a contract may have 8MiB together',
    ])
    expect(await findChangedFiles(sources)).toEqual([])
    writeFileSync(join(folder, 'a.json'), '{}')
    expect(await findChangedFiles(sources)).toEqual([join(folder, 'a.json')])
  })

  test('YAML over 2 MiB is refused, JSON is not', () => {
    const folder = folderWith({
      'contract.yaml': `# ${' '.repeat(2_200_000)}\n${referringTo('#/components/schemas/A')}`,
      'contract.json': referringTo('#/components/schemas/A', {
        components: { schemas: { A: { description: ' '.repeat(2_200_000) } } },
      }),
    })

    expect(loadContract(folder, 'contract.yaml').problems.map(({ message }) => message)).toEqual(['too large for YAML'])
    expect(loadContract(folder, 'contract.json').problems).toEqual([])
  })

  test.each([
    ['"tags": [1, 2', ',\n"x": 1}', 'a comma, or ]', [3, 4]],
    ['"y": 1, "x": 2', '}', 'each name once in an object', [2, 9]],
    [`"y": ${'['.repeat(101)}`, `${']'.repeat(101)}}`, 'at most 100 levels', expect.any(Array)],
  ])('JSON over 2 MiB with a fault is told that fault: %s', (start, end, expected, place) => {
    const folder = folderWith({ 'contract.json': `{"x": "${' '.repeat(2_200_000)}",\n${start}${end}` })

    const { problems } = loadContract(folder, 'contract.json')

    expect(problems).toMatchObject([{ message: 'the file is not JSON, and too large for YAML', expected }])
    expect(problems.map(({ line, column }) => [line, column])).toEqual([place])
  })

  test('aliases that unfold into gigabytes are refused', () => {
    const levels = Array.from({ length: 12 }, (_, n) => `  x-${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`)
    const folder = folderWith({ 'contract.yaml': `openapi: 3.1.1\ninfo:\n  x-0: &a0 [lol]\n${levels.join('\n')}\n` })

    const { problems } = loadContract(folder, 'contract.yaml')

    expect(problems.map(({ message }) => message)).toContain('too many aliases')
  })
})

test('a mistake in a component that none of the nine refers to is a warning', () => {
  const load = (schema: object) => {
    const contract = {
      openapi: '3.1.1',
      paths: {
        '/valuation/score': {
          post: {
            requestBody: { content: { 'application/json': { schema } } },
            responses: { 200: { description: 'scored' } },
          },
        },
      },
      components: {
        schemas: {
          Used: { type: 'object', properties: { part: { $ref: '#/components/schemas/Part' } } },
          Part: { type: 'strng' },
          Circle: { $ref: '#/components/schemas/Circle' },
          Text: 'string',
          Lost: { $ref: '#/components/schemas/Nothing' },
        },
        parameters: { Page: { name: 'page', in: 'query', schema: { pattern: '(' } } },
      },
    }
    return loadContract(folderWith({ 'contract.json': JSON.stringify(contract) }), 'contract.json')
  }
  const asideOf = ({ warnings }: ReturnType<typeof load>) =>
    warnings.filter(({ message }) => message.includes('none of the nine refers to')).map(({ path }) => path)

  const unused = load({ type: 'string' })
  const used = load({ $ref: '#/components/schemas/Used' })
  const text = load({ items: { $ref: '#/components/schemas/Text' } })

  expect(unused.problems).toEqual([])
  expect(unused.contract).not.toBeNull()
  expect(asideOf(unused)).toHaveLength(4)
  expect(used.problems.map(({ path }) => path)).toEqual(['components.schemas.Part.type'])
  expect(text.problems.map(({ path }) => path)).toContain('components.schemas.Text')
})

describe('a mistake in another file', () => {
  const files = {
    'parts.yaml': "Good: { type: string }\nBad: { type: strng }\nDeep: { $ref: 'broken.yaml#/X' }\n",
    'broken.yaml': 'X: {\n',
    'twice.yaml': 'X: { type: string }\nX: { type: string }\n',
    'text.yaml': 'only a text\n',
  }
  const load = (reference: string, used: object = { type: 'string' }) => {
    const components = { schemas: { Unused: { $ref: reference } } }
    const content = { 'application/json': { schema: used } }
    const post = { requestBody: { content }, responses: { 200: { description: 'scored' } } }
    const contract = { openapi: '3.1.1', paths: { '/valuation/score': { post } }, components }
    return loadContract(folderWith({ ...files, 'contract.json': JSON.stringify(contract) }), 'contract.json')
  }
  const isAside = ({ message }: { message: string }) => message.endsWith('(none of the nine refers to this)')

  test.each([
    ['a schema', 'parts.yaml#/Bad', 'parts.yaml', 'Bad.type'],
    ['a file of a file that cannot be parsed', 'parts.yaml#/Deep', 'broken.yaml', 'X'],
    ['a name that stands twice', 'twice.yaml#/X', 'twice.yaml', 'X'],
    ['a file that is no schema', 'text.yaml', 'text.yaml', ''],
    ['a pointer that leads nowhere', 'parts.yaml#/None', 'contract.json', 'components.schemas.Unused."$ref"'],
    ['a file that is not there', 'none.yaml', 'contract.json', 'components.schemas.Unused."$ref"'],
  ])('is a warning where none of the nine leads to it: %s', (_, reference, file, path) => {
    const unused = load(reference)
    const used = load(reference, { $ref: '#/components/schemas/Unused' })

    expect([unused.problems, unused.contract === null]).toEqual([[], false])
    const [warning, ...others] = unused.warnings.filter(isAside)
    expect([warning?.file.split('/').at(-1), warning?.path, others]).toEqual([file, path, []])
    expect([used.contract, used.problems.length, used.warnings.filter(isAside)]).toEqual([null, 1, []])
  })

  test('is an error where a path item leads to it by another file', () => {
    const contract = { openapi: '3.1.1', paths: { '/valuation/score': { $ref: 'path.yaml' } } }
    for (const path of ['$ref: none.yaml', '$ref: parts.yaml#/None', 'post: { responses: { 2000: {} } }']) {
      const folder = folderWith({ ...files, 'contract.json': JSON.stringify(contract), 'path.yaml': `${path}\n` })

      const { problems } = loadContract(folder, 'contract.json')

      expect(problems.map(({ file }) => file.split('/').at(-1))).toEqual(['path.yaml'])
    }
  })

  test('one place leads to it and another does not: it is an error once', () => {
    const { problems, warnings } = load('parts.yaml#/Bad', { $ref: 'parts.yaml#/Bad' })

    expect(problems.map(({ path }) => path)).toEqual(['Bad.type'])
    expect(warnings.filter(isAside)).toEqual([])
  })
})
