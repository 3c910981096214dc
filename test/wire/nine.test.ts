import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { catalog } from '../../src/catalog.ts'
import { openGateway, type TestGateway } from '../helpers/gateway.ts'
import { exchangeRaw, statusOf } from '../helpers/raw.ts'
import { openHttpUpstream, type TestUpstream } from '../helpers/upstream.ts'

let upstream: TestUpstream
let booted: TestGateway

beforeAll(async () => {
  upstream = await openHttpUpstream()
  booted = await openGateway({ upstream: upstream.url })
})
afterAll(async () => {
  await booted.gateway.close()
  await upstream.close()
})

describe('each of the nine', () => {
  test.each(catalog.map(({ id, method, path }) => [id, method, path]))('%s is forwarded', async (_, method, path) => {
    const before = upstream.requests.length

    const answer = await exchangeRaw(booted.port, `${method} ${path}?a=%20b HTTP/1.1\r\nHost: gateway\r\n\r\n`)

    expect(statusOf(answer)).toBe(200)
    expect(upstream.requests.length).toBe(before + 1)
    expect(upstream.requests.at(-1)).toMatchObject({ method, url: `${path}?a=%20b` })
  })
})
