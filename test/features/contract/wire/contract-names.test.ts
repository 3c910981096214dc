/** A client learns which of its own members is too many. The log and the drift report do not have the name. */
import { expect, test } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { call } from '../../../helpers/wire.ts'

const schema = {
  type: 'object',
  properties: {
    items: { type: 'array', maxItems: 1, items: { properties: { id: {} }, unevaluatedProperties: false } },
    map: { type: 'object', propertyNames: { maxLength: 3 }, additionalProperties: { type: 'integer' } },
  },
  additionalProperties: false,
}
const closed = { type: 'object', properties: { id: {} }, additionalProperties: false }
const contract = {
  openapi: '3.1.1',
  info: { title: 't', version: '1' },
  paths: {
    '/valuation/score': {
      post: {
        parameters: [{ name: 'p', in: 'query', style: 'deepObject', schema: closed }],
        requestBody: { content: { 'application/json': { schema } } },
        responses: { 200: { description: 'ok' } },
      },
    },
  },
}

const send = async (body: unknown, query = '') => {
  const live = await bootLiveGateway({ contract: { file: contractFile(contract), request: 'enforce' } })
  const response = await call(live.gateway.address.port, {
    method: 'POST',
    target: `/valuation/score${query}`,
    fields: ['Content-Type', 'application/json'],
    body: Buffer.from(JSON.stringify(body)),
  })
  const text = response.body.toString('latin1')
  const { errors } = JSON.parse(text) as {
    readonly errors: readonly { readonly pointer: string; readonly rule: string }[]
  }
  const { cause } = await live.line((line) => line.cause !== undefined)
  const { body: report } = await fetchAdmin(`${live.admin}/contract`)
  return {
    text,
    pointers: errors.map(({ pointer, rule }) => `${pointer} ${rule}`),
    elsewhere: JSON.stringify([cause, report]),
  }
}

test('each member that is too many is named to the client, and * elsewhere', async () => {
  const { pointers, elsewhere } = await send({ colour: 1, 'size/~': 2, items: [{ id: 1, weight: 2 }] })

  expect(pointers.toSorted()).toEqual([
    '/colour additionalProperties',
    '/items/0/weight unevaluatedProperties',
    '/size~1~0 additionalProperties',
  ])
  expect(elsewhere).not.toMatch(/colour|size|weight/)
  expect(elsewhere).toContain('/items/*/*')
})

test('so are a name that is not allowed, what a name leads to, too many items, and a member of a parameter', async () => {
  const body = { map: { long: 1, abc: 'x' }, items: [{ id: 1 }, { id: 2 }] }
  const ofBody = await send(body)
  const ofQuery = await send({}, '?p[colour]=1')

  expect(ofBody.pointers.toSorted()).toEqual([
    '/items maxItems',
    '/map maxLength',
    '/map/abc type',
    '/map/long propertyNames',
  ])
  expect(ofQuery.pointers).toEqual(['/p/colour additionalProperties'])
  expect(ofBody.elsewhere + ofQuery.elsewhere).not.toMatch(/long|abc|colour/)
})

// What a terminal would act upon: C0, DEL, C1 and the marks that turn the direction of writing.
test('a name is cut to 200 characters, and its text is ASCII without control characters', async () => {
  const hostile = `\u001b[2J\u007f\u009b\u202e\ud800é${'x'.repeat(10_000)}`

  const { text, pointers } = await send({ [hostile]: 1 })

  expect(text).toMatch(/^[\x20-\x7e]*$/)
  const [pointer = ''] = pointers
  expect(pointer.replace(/ additionalProperties$/, '')).toHaveLength(200)
  expect(pointer.startsWith('/\u001b[2J\u007f\u009b\u202e')).toBe(true)
})
