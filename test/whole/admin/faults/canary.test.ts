/** A canary that is wrong, and what an operator reads of it. */
import { expect, test } from 'vitest'
import type { FindingView } from '../../../../src/core/admin/findings/finding.ts'
import { programCommand } from '../../../../src/core/lib/program.ts'
import { runCommand } from '../../../core/cli/scripted-admin.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

test('a canary that answers 404 is named, with its share and the command that drains it; drained, it is not', async () => {
  const stable = await httpUpstream()
  const canary = await httpUpstream((_, response) => response.writeHead(404).end())
  const market = { endpoints: [stable.url, { url: canary.url, weight: 50 }] }
  const live = await bootLiveGateway({ upstreams: { market } })
  const findings = async () =>
    (await fetchAdmin(`${live.admin}/status`)).body.findings as unknown as readonly FindingView[]
  const canaries = async () => (await findings()).filter(({ about }) => about === 'upstreams.market')
  const before = await canaries()
  for (let n = 0; n < 400; n++) await (await fetch(`${live.url}/market/insights`)).arrayBuffer()

  const [found] = await canaries()
  const { out } = await runCommand(['status', '--admin', live.admin])
  const drain = await runCommand((found?.command ?? '').replace(`${programCommand()} `, '').split(' '))

  expect(before).toEqual([])
  const { length } = canary.requests
  expect(found?.cause).toContain(
    `${canary.url} answers 100 % of its requests with a 4xx, the other endpoints of market 0 % (of ${length} and ${400 - length} requests`,
  )
  expect(out).toContain(found?.cause)
  expect(drain.code).toBe(0)
  expect((await canaries()).filter(({ cause }) => cause.includes('4xx'))).toEqual([])
})
