import { expect, test } from 'vitest'
import type { PlainObject } from '../../../src/core/lib/plain-object.ts'
import { at, documentOf, problemsOf } from '../../features/openapi/document.ts'
import { contract, ok } from '../../features/openapi/given-contract.ts'

test('a key that the gateway requires is required, though the contract leaves it open', async () => {
  const key = { name: 'idempotency-KEY', in: 'header', description: 'A UUID.', schema: { type: 'string' } }
  const post = { parameters: [key], responses: { 200: ok } }
  const settings = { operations: { 'valuation.score': { idempotency: { required: true } } } }
  const named = (document: PlainObject) =>
    (at(document, '/paths/~1valuation~1score/post/parameters') as readonly PlainObject[]).filter(
      ({ name }) => name === key.name,
    )
  const own = documentOf(settings, { ...contract, paths: { '/valuation/score': { post } } })
  const { parameters: _, ...bare } = post
  const ofPath = documentOf(settings, { ...contract, paths: { '/valuation/score': { parameters: [key], post: bare } } })

  const ofBoth = documentOf(settings, { ...contract, paths: { '/valuation/score': { parameters: [key], post } } })

  const documents = [own, ofPath, ofBoth]
  expect(documents.map(named)).toEqual(documents.map(() => [{ ...key, required: true }]))
  expect((await Promise.all(documents.map(problemsOf))).flat()).toEqual([])
})
