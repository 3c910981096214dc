import { expect, test } from 'vitest'
import { contractFile } from '../../helpers/contract.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'

// The accident: the upstream trusts that /asset is a text, since the gateway rejects all else. An operator undoes the
// last edit in a hurry, and it is the one that enforced the contract.
test('a rollback that would no longer enforce the contract is rejected, and says so', async () => {
  const contract = { file: contractFile(), request: 'report', response: 'report' }
  const live = await bootLiveGateway({ contract })
  live.edit({ contract: { ...contract, request: 'enforce' } })
  await live.gateway.reload('request')

  const { status, body } = await fetchAdmin(`${live.admin}/rollback`, 'POST')
  const forbidden = await fetch(`${live.url}/valuation/score`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"id":17}',
  })

  expect(body).toMatchObject({ code: 'switches-off', switchesOff: ['contract.request'] })
  expect([status, forbidden.status]).toEqual([409, 400])
})
