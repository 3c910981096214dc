import { expect, test, vi } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'
import { documentOf, problemsOf } from './document.ts'

const token = 'a-token-of-an-operator'
const bearer = { headers: { Authorization: `Bearer ${token}` } }

test('GET /openapi.json responds with the document of what runs, to those who hold the token', async () => {
  const live = await bootLiveGateway({ admin: { token } })

  const refused = await fetchAdmin(`${live.admin}/openapi.json`)
  const { status, headers, body } = await fetchAdmin(`${live.admin}/openapi.json`, 'GET', bearer)

  expect([refused.status, status]).toEqual([401, 200])
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(body).toEqual(documentOf())
  expect(await problemsOf(body)).toEqual([])
})

test('it follows an edit', async () => {
  const live = await bootLiveGateway({ reload: { watch: true } })

  live.edit({ listen: { basePath: '/lender' } })

  await vi.waitFor(
    async () => {
      const { body } = await fetchAdmin(`${live.admin}/openapi.json`)
      expect(Object.keys(body.paths ?? {})).toContain('/lender/market/insights')
    },
    { timeout: 30_000 },
  )
})
