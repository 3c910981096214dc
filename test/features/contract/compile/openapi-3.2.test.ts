import { describe, expect, test } from 'vitest'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { sampleContract } from '../../../helpers/contract.ts'

const load = (document: object, files: Readonly<Record<string, string>> = {}) =>
  loadContract(folderWith({ ...files, 'contract.json': JSON.stringify(document) }), 'contract.json')

/** A contract of 3.2 with what is new there and means nothing for a check. */
const harmless = {
  ...sampleContract,
  openapi: '3.2.0',
  $self: 'https://bank.example/contract.json',
  jsonSchemaDialect: 'https://spec.openapis.org/oas/3.2/dialect/2025-09-17',
  tags: [
    { name: 'a', summary: 'A' },
    { name: 'b', parent: 'a', kind: 'nav' },
  ],
  paths: {
    ...sampleContract.paths,
    '/market/insights': {
      get: {
        ...sampleContract.paths['/market/insights'].get,
        responses: {
          200: {
            summary: 'found',
            content: {
              'application/json': {},
              'multipart/mixed': { prefixEncoding: [{}], itemEncoding: {} },
            },
          },
        },
      },
    },
  },
  components: {
    ...sampleContract.components,
    mediaTypes: { Unused: { itemSchema: { type: 'object' } } },
    schemas: {
      ...sampleContract.components.schemas,
      Asset: {
        ...sampleContract.components.schemas.Asset,
        discriminator: { propertyName: 'kind', defaultMapping: '#/components/schemas/Asset' },
        xml: { nodeType: 'none', name: 'asset' },
      },
    },
  },
}

describe('a document of OpenAPI 3.2', () => {
  test('that uses nothing new is read like the same one of 3.1', () => {
    const { contract: old } = load(sampleContract)
    const { contract, problems } = load({ ...sampleContract, openapi: '3.2.0' })

    expect(problems).toEqual([])
    expect([contract?.code, contract?.operations]).toEqual([old?.code, old?.operations])
  })

  test('may have what is new and checks nothing: the document that is printed, of 3.1, has none of it', () => {
    const { contract, problems, warnings } = load(harmless)
    const text = JSON.stringify(contract?.document)
    const again = load(JSON.parse(text))

    expect(problems).toEqual([])
    expect(warnings.map(({ found }) => found)).toContain('prefixEncoding')
    expect(text).not.toMatch(/\$self|found|defaultMapping|nodeType|itemSchema|prefixEncoding/)
    expect(contract?.document).toMatchObject({
      openapi: '3.1.1',
      components: { schemas: { Asset: { discriminator: { propertyName: 'kind' }, xml: { name: 'asset' } } } },
    })
    expect([again.problems, again.contract?.code]).toEqual([[], contract?.code])
  })

  // OpenAPI 3.2 §4.1.1: $self is the base of relative references, wherever the file lies.
  test.each(['parts.json#/Asset', 'contract.json#/components/schemas/Asset'])(
    'with $self refers to no file: %s',
    (reference) => {
      const Asset = { $ref: reference }
      const document = {
        ...harmless,
        components: { schemas: { Asset, Other: { $ref: '#/components/schemas/Asset' } } },
      }

      const { problems } = load(document, { 'parts.json': '{"Asset":{"type":"object"}}' })
      const { $self: _, ...without } = document

      expect(problems.map(({ path, message }) => [path, message])).toEqual([
        ['components.schemas.Asset."$ref"', 'the reference starts at the $self of its file, which is not read'],
      ])
      if (reference.startsWith('parts'))
        expect(load(without, { 'parts.json': '{"Asset":{"type":"object"}}' }).problems).toEqual([])
    },
  )

  test.each(['https://spec.openapis.org/oas/3.2/dialect/2026-02-26', 'https://spec.openapis.org/oas/3.1/dialect/base'])(
    'may be of the dialect %s, and of no unknown one',
    (jsonSchemaDialect) => {
      expect(load({ ...harmless, jsonSchemaDialect }).problems).toEqual([])
      expect(load({ ...harmless, jsonSchemaDialect: `${jsonSchemaDialect}x` }).problems).toMatchObject([
        { path: 'jsonSchemaDialect', message: 'the schemas are of another dialect' },
      ])
    },
  )
})
