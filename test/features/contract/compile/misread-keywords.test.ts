import { expect, test } from 'vitest'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { folderWith } from '../../../core/config/helper.ts'

/** The warnings of a contract with a request, a response and components, less those of what it leaves out. */
const warningsOf = (request: unknown, response: unknown, schemas: object = {}, openapi = '3.1.1') => {
  const content = (schema: unknown) => ({ content: { 'application/json': { schema } } })
  const document = {
    openapi,
    paths: {
      '/valuation/score': {
        post: { requestBody: content(request), responses: { 200: { description: 'scored', ...content(response) } } },
      },
    },
    components: { schemas },
  }
  const folder = folderWith({ 'contract.json': JSON.stringify(document) })
  const { problems, warnings } = loadContract(folder, 'contract.json')
  expect(problems).toEqual([])
  return warnings
    .filter(({ message }) => /break/.test(message))
    .map(({ path, message, found }) => [path.replace(/^paths.*"application.json"/, ''), message, found])
}

const noNull = 'null breaks this: the enumeration does not have it, though the type has'

test('a nullable enumeration without null gets a warning, in OpenAPI 3.0 and 3.1', () => {
  const grade = { type: 'string', enum: ['A', 'B'], nullable: true }
  const found = 'no null among the values'

  expect(warningsOf(grade, {}, {}, '3.0.4')).toEqual([['.schema.enum', noNull, found]])
  expect(warningsOf({ ...grade, enum: ['A', null] }, {}, {}, '3.0.4')).toEqual([])
  expect(warningsOf({ type: ['string', 'null'], enum: ['A'] }, {})).toEqual([['.schema.enum', noNull, found]])
  expect(warningsOf({ type: 'string', enum: ['A'] }, {})).toEqual([])
})

test('a member that is required in the direction to which it does not belong gets a warning', () => {
  const Asset = {
    type: 'object',
    required: ['id', 'pin', 'amount'],
    properties: { id: { readOnly: true }, pin: { $ref: '#/components/schemas/Pin' }, amount: {} },
  }
  const schemas = { Asset, Pin: { type: 'string', writeOnly: true } }
  const list = { type: 'array', items: { $ref: '#/components/schemas/Asset' } }
  const id = [
    'components.schemas.Asset.required[0]',
    'requests without it break the contract: readOnly does nothing',
    '"id", which is readOnly',
  ]
  const pin = [
    'components.schemas.Asset.required[1]',
    'responses without it break the contract: writeOnly does nothing',
    '"pin", which is writeOnly',
  ]

  expect(warningsOf(list, {}, schemas)).toEqual([id])
  expect(warningsOf({}, list, schemas)).toEqual([pin])
  expect(warningsOf(list, list, schemas)).toEqual([id, pin])
})

test('a part of allOf may require what another one says', () => {
  const request = { allOf: [{ properties: { id: { readOnly: true } } }], required: ['id'] }

  expect(warningsOf(request, {})).toEqual([['.schema.required[0]', expect.any(String), '"id", which is readOnly']])
})
