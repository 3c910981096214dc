import { describe, expect, test } from 'vitest'
import { allOperations } from '../../src/operations.ts'
import { gatewayForAll } from '../helpers/gateway.ts'
import { exchangeRaw, parseStatus } from '../helpers/raw-client.ts'

const site = gatewayForAll()

describe('each of the nine', () => {
  test.each(allOperations.map(({ id, method, path }) => [id, method, path]))(
    '%s is forwarded',
    async (_, method, path) => {
      const before = site.upstream.requests.length

      const response = await exchangeRaw(site.port, `${method} ${path}?a=%20b HTTP/1.1\r\nHost: gateway\r\n\r\n`)

      expect(parseStatus(response)).toBe(200)
      expect(site.upstream.requests.length).toBe(before + 1)
      expect(site.upstream.requests.at(-1)).toMatchObject({ method, url: `${path}?a=%20b` })
    },
  )
})
