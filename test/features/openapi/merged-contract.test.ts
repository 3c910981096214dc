import { describe, expect, test } from 'vitest'
import { allOperations } from '../../../src/operations.ts'
import { at, documentOf, operationsOf, problemsOf } from './document.ts'
import { contract, gapsOf } from './given-contract.ts'

test('clients are not told how much traffic a draft was drawn up from', () => {
  const range = { from: 10, below: 100 }
  const notes = { 'x-seen': '60 of 60', 'x-range': range, 'x-length': range, 'x-items': range, 'x-null': '1 of 60' }
  const named = { 'x-seen': { type: 'string' }, 'x-range': {} }
  const schema = { type: 'object', ...notes, properties: named }

  const document = documentOf({}, { openapi: '3.1.1', paths: {}, components: { schemas: { A: schema } } })

  expect(at(document, '/components/schemas/A')).toEqual({ type: 'object', properties: named })
})

describe('a contract that is merged', () => {
  const document = documentOf({}, contract)
  const score = '/paths/~1valuation~1score/post'

  test('leaves a document that fits the schema, whose references all lead somewhere', async () => {
    expect(await problemsOf(document)).toEqual([])
  })

  test('adds no operation: not by a path, and not by a method', () => {
    expect(operationsOf(document)).toEqual(allOperations.map(({ method, path }) => `${method} ${path}`))
    expect(JSON.stringify(document)).not.toMatch(/postScore|pathItems|elsewhere/)
  })

  test('says what the operation is', () => {
    expect(at(document, score)).toMatchObject({
      ...{ operationId: 'valuation.score', tags: ['valuation'], summary: 'Scores an asset.' },
      description: 'Slow on Mondays.',
      requestBody: contract.paths['/valuation/score'].post.requestBody,
    })
    expect(at(document, '/paths/~1valuation~1score/parameters')).toEqual([{ $ref: '#/components/parameters/Region' }])
    expect(document.info).toMatchObject({ title: 'Scores', version: '2026-11' })
    expect(at(document, '/info/description')).toMatch(/^Made by the valuation team\.\n\nThe gateway lets/)
    expect(document.tags).toContainEqual({ name: 'valuation', description: 'What an asset is worth.' })
    expect(document.servers).toEqual([{ url: '/' }])
  })

  test('fills the gaps that it speaks of, and no other', () => {
    const always = 'authentication not specified'
    const ofErrors = 'errors of the upstream not specified'
    expect(gapsOf(document)).toEqual([always])
    const ofGet = (path: string) => gapsOf(document, `/paths/${path}/get`)
    expect(ofGet('~1market~1insights')).toEqual([ofErrors, always])
    expect(ofGet('~1analysis~1esg-grant')).toEqual(['response body not specified', ofErrors, always])
    expect(ofGet('~1leads~1pipeline')).toEqual(['query parameters not specified', ofErrors, always])
    expect(gapsOf(document, '/paths/~1inventory~1sync/post')).toEqual(gapsOf(documentOf()))
  })

  test('names a header field once, however it is spelled', () => {
    expect(at(document, `${score}/parameters`)).toEqual([
      contract.paths['/valuation/score'].post.parameters[0],
      { $ref: '#/components/parameters/InteractionId' },
    ])
    const headers = Object.keys(Object(at(document, `${score}/responses/default/headers`)))
    expect(headers).toEqual(['X-Shard', 'X-Request-Id', 'x-fapi-interaction-id', 'Via'])
  })

  test('keeps its components, and those of the gateway give way', () => {
    expect(at(document, '/components/schemas/Problem')).toEqual(contract.components.schemas.Problem)
    expect(at(document, '/components/schemas/Problem-2')).toMatchObject({ required: expect.arrayContaining(['code']) })
    expect(at(document, '/components/responses/BadRequest')).toEqual(contract.components.responses.BadRequest)
    expect(at(document, '/components/schemas/Asset')).toEqual(contract.components.schemas.Asset)
  })

  test('stands beside the gateway’s own errors: of the same status, its class, or any', () => {
    const typesOf = (status: string): readonly string[] =>
      Object.keys(Object(at(document, `${score}/responses/${status}/content`)))

    expect(typesOf('400')).toEqual(['application/json', 'application/problem+json'])
    expect(typesOf('413')).toEqual(['text/plain', 'application/problem+json'])
    expect(typesOf('502')).toEqual(['text/html', 'application/problem+json'])
    expect(at(document, `${score}/responses/503/content/application~1problem+json/schema`)).toEqual({
      anyOf: [{ type: 'object' }, expect.objectContaining({ allOf: expect.anything() })],
    })
    expect(at(document, `${score}/responses/400/description`)).toMatch(/^The roof is wrong\.\n\nBad Request, from/)
  })

  test('requires no header field of the gateway’s own errors', () => {
    expect(at(document, `${score}/responses/default/headers/X-Shard`)).toMatchObject({ required: true })
    expect(at(document, `${score}/responses/502/headers/X-Shard`)).toEqual({ schema: {} })
  })
})

test.each(['/lender', '/valuation'])('the nine of a contract stand under the base path: %s', async (basePath) => {
  const document = documentOf({ listen: { basePath } }, contract)

  const prefix = `/paths/${basePath.replace('/', '~1')}`
  expect(at(document, `${prefix}~1valuation~1score/post/summary`)).toBe('Scores an asset.')
  expect(gapsOf(document, `${prefix}~1leads~1pipeline/get`)).not.toContain('response body not specified')
  expect(operationsOf(document)).toHaveLength(9)
  expect(await problemsOf(document)).toEqual([])
})

test.each([
  ['no object', 'a text'],
  ['an empty one', {}],
  ['a loop of references', { paths: { '/leads/pipeline': { $ref: '#/paths/~1leads~1pipeline' } } }],
  ['a reference to another file', { paths: { '/leads/pipeline': { $ref: 'file:///etc/passwd' } } }],
  ['a reference that cannot be decoded', { paths: { '/leads/pipeline': { $ref: '#/paths/%zz' } } }],
  ['members of every object', JSON.parse('{"paths":{"__proto__":{"get":{}}},"components":{"constructor":{}}}')],
])('a contract that says nothing of the nine adds nothing: %s', (_, given) => {
  const { components: _given, ...said } = documentOf({}, given)
  const { components: _plain, ...plain } = documentOf()

  expect(said).toEqual(plain)
})
