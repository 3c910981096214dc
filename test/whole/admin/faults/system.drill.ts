/**
 * Faults of the system below the gateway, of a real process in file systems of its own, and what an operator
 * reads of them.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Settings } from '../../../helpers/gateway.ts'
import { mountsPermitted, onSmallDisk, withHostsFile } from '../../../helpers/mount-namespace.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { folder, startProcess } from './plant.ts'
import { lacks, shows, symptom } from './symptom.ts'

/** Starts the command through another; `sendRequest` returns the status of a response. */
const start = async (settings: Settings, through: readonly string[]) => {
  const started = await startProcess(settings, through)
  const sendRequest = async (): Promise<number> => (await fetch(`${started.url}/market/insights`)).status
  return { ...started, sendRequest }
}

describe.skipIf(!mountsPermitted)('a gateway whose', () => {
  test('names are gone says so, though it goes on by what they were', async () => {
    const upstream = await httpUpstream()
    const [hosts, nsswitch] = [join(folder(), 'hosts'), join(folder(), 'nsswitch.conf')]
    writeFileSync(hosts, '127.0.0.1 localhost market.internal\n')
    writeFileSync(nsswitch, 'hosts: files\n')
    const market = { endpoints: [`http://market.internal:${upstream.port}`], resolve: '1s' }
    const { sendRequest, admin } = await start({ upstreams: { market } }, withHostsFile(hosts, nsswitch))
    expect(await sendRequest()).toBe(200)
    await lacks(admin, symptom(8))

    writeFileSync(hosts, '127.0.0.1 localhost\n')

    await shows(admin, symptom(8))
    expect(await sendRequest()).toBe(200)
  })

  test('audit log stands on a full disk says so, and that requests are rejected for it', async () => {
    const disk = folder()
    const key = join(folder(), 'key')
    writeFileSync(key, 'k'.repeat(32))
    const { sendRequest, admin, served } = await start(
      { audit: { file: join(disk, 'audit.log'), key: `file:${key}`, onFailure: 'refuse' } },
      onSmallDisk(disk),
    )
    expect(await sendRequest()).toBe(200)
    await lacks(admin, symptom(9))

    let sent = 0
    while (!served.lines.some(({ msg }) => msg === 'audit cannot be written') && sent++ < 2000) await sendRequest()
    expect(await sendRequest()).toBe(503)

    await shows(admin, symptom(9))
  })
})

test('with several workers, what has failed is counted over all of them', async () => {
  const upstream = await httpUpstream()
  const { sendRequest, admin } = await start({ workers: 2, upstreams: { market: upstream.url } }, [])
  expect(await sendRequest()).toBe(200)
  await lacks(admin, symptom(1))

  await upstream.close()
  const connections = [0, 1, 2, 3, 4, 5].map(async () => expect(await sendRequest()).toBe(502))
  await Promise.all(connections)

  const { details } = await shows(admin, symptom(1))
  expect(details).toEqual([
    expect.stringContaining('no success since 6 failures'),
    expect.stringContaining(`for the owner of ${upstream.url} to mend`),
  ])
})
