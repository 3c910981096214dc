import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A contract of two operations: a POST with a body, and a GET with a parameter. */
export const sampleContract = {
  openapi: '3.1.0',
  info: { title: 'Lender integration', version: '1.0.0' },
  paths: {
    '/valuation/score': {
      post: {
        parameters: [{ name: 'mode', in: 'query', schema: { enum: ['fast', 'full'] } }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Asset' } } },
        },
        responses: {
          200: {
            description: 'scored',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['grade'],
                  properties: { grade: { type: 'string', pattern: '^[A-F]$' } },
                },
              },
            },
          },
        },
      },
    },
    '/market/insights': {
      get: {
        parameters: [{ name: 'limit', in: 'query', required: true, schema: { type: 'integer', maximum: 100 } }],
        responses: { 200: { description: 'insights', content: { 'application/json': {} } } },
      },
    },
  },
  components: {
    schemas: {
      Asset: {
        type: 'object',
        required: ['id'],
        properties: {
          id: { type: 'string' },
          amount: { type: 'number', minimum: 0 },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Asset' } },
        },
      },
    },
  },
}

/** Writes a contract to a file that is there until the test has finished; `atEnd`: until then. */
export const contractFile = (
  document: unknown = sampleContract,
  atEnd: (remove: () => void) => void = onTestFinished,
): string => {
  const folder = mkdtempSync(join(tmpdir(), 'contract-'))
  atEnd(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'contract.json')
  writeFileSync(file, JSON.stringify(document))
  return file
}

/** The sample that docs/command-line.md shows, for {@link sampleContract}. */
export const sampleOfPage = (): string => {
  const page = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8')
  const [, sample = ''] = /`request\.json`:\n\n```json\n(.*?)```/s.exec(page) ?? []
  return sample
}
