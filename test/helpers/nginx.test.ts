import { describe, expect, test } from 'vitest'
import { allOperations } from '../../src/operations.ts'
import { startNginx } from './nginx.ts'
import { needProgram } from './program.ts'

const nginx = await needProgram('nginx')

describe.skipIf(nginx.missing)('a real nginx as an upstream', () => {
  test('answers each of the nine, rejects the rest, and records what it received', async () => {
    const upstream = await startNginx(nginx.path ?? '')
    try {
      for (const { id, method, path } of allOperations) {
        const body = method === 'POST' ? `{"of":"${id}"}` : null
        const response = await fetch(`${upstream.origin}${path}?q=a%20b`, { method, body })

        expect(response.status).toBe(200)
        expect(response.headers.get('x-operation')).toBe(id)
        expect(await response.text()).toBe(`nginx ${method} ${path}?q=a%20b`)
      }
      const other = await fetch(`${upstream.origin}/valuation`)
      const wrong = await fetch(`${upstream.origin}/market/insights`, { method: 'POST' })
      const records = await upstream.requests()

      expect([other.status, wrong.status]).toEqual([404, 405])
      expect(records.slice(0, 9).map(({ operation, body }) => [operation, body])).toEqual(
        allOperations.map(({ id, method }) => [id, method === 'POST' ? `{"of":"${id}"}` : '']),
      )
    } finally {
      await upstream.stop()
    }
  })
})
