import { describe, expect, test } from 'vitest'
import { catalog } from '../../src/catalog.ts'
import { gatewayForAll } from '../helpers/gateway.ts'
import { exchangeRaw, statusOf } from '../helpers/raw.ts'

const site = gatewayForAll()

describe('each of the nine', () => {
  test.each(catalog.map(({ id, method, path }) => [id, method, path]))('%s is forwarded', async (_, method, path) => {
    const before = site.upstream.requests.length

    const answer = await exchangeRaw(site.port, `${method} ${path}?a=%20b HTTP/1.1\r\nHost: gateway\r\n\r\n`)

    expect(statusOf(answer)).toBe(200)
    expect(site.upstream.requests.length).toBe(before + 1)
    expect(site.upstream.requests.at(-1)).toMatchObject({ method, url: `${path}?a=%20b` })
  })
})
