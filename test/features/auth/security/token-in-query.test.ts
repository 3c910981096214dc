import { expect, test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { signToken } from '../../../helpers/tokens.ts'

// RFC 9700 §4.3.2: a query is written into logs and histories everywhere.
test('a token in the query is rejected, though a good one is shown as well', async () => {
  const { ask, gateway, key, reached } = await bootJwtGateway()
  const good = signToken(key)

  for (const name of ['access_token', 'acc%65ss_token', 'a=b&access_token']) {
    const response = await ask(good, `/market/insights?${name}=${good}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'bad-request' })
  }

  expect(reached).toEqual([])
  expect(await gateway.line(({ cause }) => cause === 'there is a token in the query')).toBeTruthy()
  expect(JSON.stringify(gateway.lines)).not.toContain(good)
})
