/**
 * Runs a gateway in a process of its own and does what a test asks of it: `node gateway-child.ts FILE`, with an IPC
 * channel.
 */
import './install-features.ts'
import { readdirSync, readlinkSync } from 'node:fs'
import { findServiceName } from '../../src/core/config/config-facts.ts'
import { loadConfig } from '../../src/core/config/load/load-config.ts'
import { openLog } from '../../src/core/log/log.ts'
import { startGateway } from '../../src/core/runtime/gateway.ts'
import { openBrokenGateway } from './broken-gateway.ts'
import type { ChildRequest, ProcessCensus } from './gateway-process.ts'

const file = process.argv[2] ?? ''
const loaded = loadConfig(file)
if (!loaded.ok) throw new Error(`the test's configuration is rejected: ${JSON.stringify(loaded.problems, null, 2)}`)
const { config } = loaded
const { log, dropped, forwardLines, close } = await openLog(config, findServiceName(config))
const gateway = await startGateway({
  file,
  loaded,
  environment: process.env,
  log,
  droppedLines: dropped,
  forwardLines,
})
const broken = await openBrokenGateway({ loaded, log })

const openDescriptors = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`).replace(/:.*/, '')]
    } catch {
      return [] // the one that listed them
    }
  })

const census = (): ProcessCensus => ({
  descriptors: openDescriptors().sort(),
  resources: process.getActiveResourcesInfo().sort(),
  dropped: dropped(),
  residentBytes: process.memoryUsage.rss(),
})

process.on('message', async (question: ChildRequest) => {
  if (question === 'census') return void process.send?.(census())
  await Promise.all([gateway.close(), broken.close()])
  await close()
  process.disconnect()
})

process.send?.({ port: gateway.address.port, brokenPort: broken.address.port })
