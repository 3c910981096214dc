/** An upstream that breaks the contract, and what an operator reads of it. */
import { expect, test } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { lacks, shows, symptom } from './symptom.ts'

test('an upstream that breaks the contract is named, with the place and the rule', async () => {
  let grade = 'A'
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end(JSON.stringify({ grade }))
  })
  const live = await bootLiveGateway({ upstream: upstream.url, contract: { file: contractFile() } })
  const send = async (): Promise<string> => {
    const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"id":"a"}' }
    return (await fetch(`${live.url}/valuation/score`, request)).text()
  }
  expect(await send()).toBe('{"grade":"A"}')
  await lacks(live.admin, symptom(13))

  grade = 'Zebra'
  for (let n = 0; n < 4; n++) expect(await send()).toBe('{"grade":"Zebra"}')

  const { cause } = await shows(live.admin, symptom(13))
  expect(cause).toContain(`80 % of the responses of ${upstream.url} break the contract since `)
  expect(cause).not.toContain('Zebra')
})
