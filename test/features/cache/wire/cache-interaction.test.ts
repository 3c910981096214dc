import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

test('no client is sent the interaction id of another, and each gets his own back', async () => {
  const upstream = await httpUpstream((request, response) => {
    response.setHeader('Cache-Control', 'max-age=60')
    response.setHeader('x-fapi-interaction-id', receivedValues(request, 'x-fapi-interaction-id')[0] ?? 'none')
    response.end()
  })
  const { url } = await bootGateway({ upstream: upstream.url, operations: { 'market.insights': { cache: true } } })
  const ask = async (id: string | null) => {
    const { headers } = await fetch(`${url}/market/insights`, {
      headers: id === null ? {} : { 'x-fapi-interaction-id': id },
    })
    return { id: headers.get('x-fapi-interaction-id'), hit: headers.get('cache-status')?.includes('hit') }
  }

  expect([await ask('first'), await ask('second'), await ask(null)]).toEqual([
    { id: 'first', hit: false },
    { id: 'second', hit: true },
    { id: null, hit: true },
  ])
})
