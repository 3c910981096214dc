import { describe, expect, test } from 'vitest'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { below, explain } from '../../features/explain/live.ts'
import { freePort } from '../../helpers/free-port.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'

describe('explain --live', () => {
  test('shows which endpoint is out and why, the commands of an operator, and the recent failures', async () => {
    const [drained, dead] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`)
    const live = await bootLiveGateway({ upstreams: { market: { endpoints: [drained, dead], concurrency: 7 } } })
    const drainResponse = await fetchAdmin(`${live.admin}/endpoints/drain`, 'POST', {
      body: JSON.stringify({ group: 'market', url: drained, ttl: '30m' }),
    })
    for (let n = 0; n < 3; n++) await (await fetch(`${live.url}/market/insights`)).text()
    await (await fetch(`${live.url}/leads/pipeline`, { method: 'DELETE' })).text()

    const { code, out, err } = await explain(live.admin, live.file)

    expect({ code, err, drainResponse: drainResponse.status }).toEqual({ code: 0, err: '', drainResponse: 200 })
    expect(out).toMatch(/^GET \/market\/insights: forwarded\n/)
    expect(below(out)).toContain(`it runs ${live.gateway.config.hash}\n`)
    const rejected = 'connect-failed: the endpoint refuses connections \\(ECONNREFUSED\\)'
    for (const line of [
      `market +${drained} +100 +0 +drained by 127.0.0.1 until .* left`,
      ` +${dead} +100 +0 +up, 3 of 3 requests failed since \\S+Z, \\d+s ago`,
      'upstreams\\.market\\.concurrency +0 of 7 in flight',
      `3 +\\S+Z, \\d+s ago +502 ${rejected}, at ${dead}`,
    ])
      expect(below(out)).toMatch(new RegExp(`^${line}$`, 'm'))
    expect(below(out)).not.toMatch(/leads|valuation/)
  })

  test('an operation that an operator rejects is rejected, one that the operator lets serve is not', async () => {
    const live = await bootLiveGateway({ operations: { 'leads.pipeline': { state: 'reject' } } })
    const setState = (state: string, operation: string) =>
      fetchAdmin(`${live.admin}/operations/${state}`, 'POST', { body: JSON.stringify({ operation }) })
    await setState('reject', 'market.insights')
    await setState('serve', 'leads.pipeline')

    const rejected = await explain(live.admin, live.file)
    const where = ['--config', live.file, '--live', '--admin', live.admin]
    const served = await runCommand(['explain', 'GET', '/leads/pipeline', ...where])
    const offline = await runCommand(['explain', 'GET', '/market/insights', '--config', live.file])

    expect([rejected.code, served.code, offline.code]).toEqual([1, 0, 0])
    expect(rejected.out).toMatch(
      /^GET \/market\/insights: rejected with 503 rejected-by-operator\n\nwhy {3}127\.0\.0\.1 rejects every request until \S+Z\nhint {2}operation serve market\.insights ends that\n/,
    )
    expect(served.out).toMatch(/^GET \/leads\/pipeline: forwarded\n/)
    expect(served.out).toMatch(
      /^state {6}served just now, though the file rejects it: operations\.leads\.pipeline\.state \(.*:\d+\)$/m,
    )
    expect(rejected.out).toMatch(/^market\.insights +REJECTED by 127.0.0.1 until /m)
    expect(served.out).toMatch(/^leads\.pipeline +served by 127.0.0.1 until /m)
    expect(offline.out).not.toContain('just now')
  })
})
