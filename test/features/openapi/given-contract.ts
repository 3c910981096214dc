import { at } from './document.ts'

export const ok = {
  description: 'The score.',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Score' } } },
}
export const gapsOf = (document: object, pointer = '/paths/~1valuation~1score/post'): unknown =>
  at({ ...document }, `${pointer}/x-gap`)

/** A contract with names of its own for what the gateway calls the same. */
export const contract = {
  openapi: '3.1.0',
  info: { title: 'Scores', version: '2026-11', description: 'Made by the valuation team.' },
  tags: [{ name: 'valuation', description: 'What an asset is worth.' }, { name: 'elsewhere' }],
  paths: {
    '/valuation/score': {
      summary: 'Scores',
      parameters: [{ $ref: '#/components/parameters/Region' }],
      post: {
        operationId: 'postScore',
        tags: ['elsewhere'],
        summary: 'Scores an asset.',
        description: 'Slow on Mondays.',
        parameters: [{ name: 'x-request-ID', in: 'header', schema: { type: 'string' } }],
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Asset' } } } },
        responses: {
          200: { ...ok, headers: { ETag: { schema: { type: 'string' } } } },
          400: { $ref: '#/components/responses/BadRequest' },
          503: { description: 'Closed.', content: { 'application/problem+json': { schema: { type: 'object' } } } },
          '4XX': { description: 'Rejected.', content: { 'text/plain': {} } },
          default: {
            description: 'Broken.',
            content: { 'text/html': {} },
            headers: { Via: {}, 'X-Shard': { required: true, schema: {} } },
          },
        },
      },
      delete: { responses: { 204: { description: 'Gone.' } } },
    },
    '/valuation/scores': { get: { responses: { 200: ok } } },
    '/market/insights': { get: { parameters: [], responses: { 204: { description: 'None.' } } } },
    '/analysis/esg-grant': {
      parameters: [{ $ref: '#/components/parameters/Region' }],
      get: { responses: { 200: { description: 'Some text.' } } },
    },
    '/leads/pipeline': { get: { responses: { 200: { $ref: '#/paths/~1valuation~1score/post/responses/200' } } } },
  },
  components: {
    schemas: {
      Asset: {
        type: 'object',
        properties: { id: { $ref: '#/components/schemas/Problem' }, links: { type: 'string' } },
      },
      Score: { type: 'number' },
      Problem: { type: 'string', description: 'What is wrong with the roof.' },
    },
    parameters: { Region: { name: 'region', in: 'query', schema: { type: 'string' } } },
    responses: { BadRequest: { description: 'The roof is wrong.', content: { 'application/json': {} } } },
    pathItems: { Insights: { get: { parameters: [], responses: { 204: { description: 'None.' } } } } },
  },
}
