import { describe, expect, test } from 'vitest'
import { jsonResponse, runCommand, scriptedAdmin } from '../../core/cli/scripted-admin.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'

describe('operation', () => {
  test('takes one of the nine out of service for a while, and puts it back', async () => {
    const live = await bootLiveGateway()
    const runOperation = (...args: readonly string[]) => runCommand(['operation', ...args, '--admin', live.admin])
    const status = async () => (await fetch(`${live.url}/market/insights`)).status

    const rejected = await runOperation('reject', 'market.insights', '--ttl', '30m')
    const during = await status()
    const served = await runOperation('serve', 'market.insights')

    expect(rejected).toMatchObject({ code: 0, err: '' })
    expect(rejected.out).toMatch(/^market\.insights is rejected until 2\d{3}-.*Z, then as the file says\n$/)
    expect(served).toMatchObject({ code: 0, out: 'market.insights is served as the file says\n' })
    expect([during, await status()]).toEqual([503, 200])
  })

  test('with a time that cannot be is wrong usage', async () => {
    const { code, err } = await runCommand(['operation', 'reject', 'market.insights', '--ttl', '15'])

    expect(code).toBe(2)
    expect(err).toContain("option '--ttl <DURATION>' argument '15' is invalid. Expected a duration from 1s to 24h")
  })

  test('ends with 1 where a worker does not respond, and prints what is in effect', async () => {
    const detail = 'worker 1 did not reply: the change is in effect in no worker, and is not retried'
    const admin = await scriptedAdmin(jsonResponse({ code: 'workers-not-replying', detail }, 503))

    const result = await runCommand(['operation', 'reject', 'market.insights', '--admin', admin.url])

    expect(result).toEqual({ code: 1, out: '', err: `lender-gateway: ${admin.url} rejects the command: ${detail}\n` })
  })
})
