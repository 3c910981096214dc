/** What a client has written as an array in deepObject is checked, and goes to the upstream as it came. */
import { expect, test } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

const schema = { type: 'object', properties: { a: { type: 'array', items: { type: 'integer' }, maxItems: 2 } } }
const get = {
  parameters: [{ name: 'p', in: 'query', style: 'deepObject', schema }],
  responses: { 200: { description: 'ok' } },
}
const document = { openapi: '3.1.1', info: { title: 't', version: '1' }, paths: { '/market/insights': { get } } }

test('arrays in deepObject are enforced, and forwarded as they came', async () => {
  const received: string[] = []
  const upstream = await httpUpstream(({ url }, response) => {
    received.push(url)
    response.end()
  })
  const contract = { file: contractFile(document), request: 'enforce', response: 'off' }
  const { port } = await bootGateway({ upstream: upstream.url, contract })
  const kept = ['p[a]=1&p[a]=2', 'p%5Ba%5D[]=1', 'p[a][1]=2&p[a][0]=1'].map((each) => `/market/insights?${each}`)
  const broken = ['p[a]=1&p[a]=x', 'p[a][]=1&p[a][]=2&p[a][]=3', 'p[a][0]=1&p[a][2]=2']

  for (const target of kept) expect((await call(port, { target })).status).toBe(200)
  const pointers = []
  for (const query of broken) {
    const { status, body } = await call(port, { target: `/market/insights?${query}` })
    const { errors } = JSON.parse(body.toString()) as { errors: readonly { pointer: string; rule: string }[] }
    pointers.push([status, ...errors.map(({ pointer, rule }) => `${pointer} ${rule}`)])
  }

  expect(pointers).toEqual([
    [400, '/p/a/1 type'],
    [400, '/p/a maxItems'],
    [400, '/p array-items'],
  ])
  expect(received).toEqual(kept)
})
