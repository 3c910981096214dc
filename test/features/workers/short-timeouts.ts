/**
 * Runs a gateway that waits less for its workers than by default: `node short-timeouts.ts FILE`. A worker that hangs
 * is killed after `HANG_MS`, half a minute unless said.
 */
import '../../helpers/install-features.ts'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { openLog } from '../../../src/core/log/log.ts'
import { startGateway } from '../../../src/core/runtime/gateway.ts'
import { defaultWorkerTimeouts } from '../../../src/features/workers/worker-timeouts.ts'

const file = process.argv[2] ?? ''
const loaded = loadConfig(file)
if (!loaded.ok) throw new Error(`the test's configuration is refused: ${JSON.stringify(loaded.problems, null, 2)}`)
const { log, dropped, forwardLines } = await openLog(loaded.config)
Object.assign(defaultWorkerTimeouts, {
  replyMs: 2000,
  reportMs: 300,
  connectionAckMs: 300,
  answerMs: 4000,
  hangMs: Number(process.env.HANG_MS ?? defaultWorkerTimeouts.hangMs),
  saveEveryMs: 100,
})
const gateway = await startGateway({
  file,
  loaded,
  environment: process.env,
  log,
  droppedLines: dropped,
  forwardLines,
})
log.info({ port: gateway.address.port }, 'listening')
log.info({ port: gateway.adminAddress.port }, 'admin listening')
