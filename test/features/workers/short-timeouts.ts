/** A gateway with short timeouts for workers that serve: `node short-timeouts.ts FILE`. */
import { defaultWorkerTimeouts } from '../../../src/features/workers/worker-timeouts.ts'

const shorter = { replyMs: 2000, reportMs: 300, connectionAckMs: 300, primaryReplyMs: 4000, saveEveryMs: 100 }
const longer = { startMs: 120_000 } // on a machine that is busy with other tests
Object.assign(defaultWorkerTimeouts, shorter, longer)
process.argv.splice(2, 0, 'serve', '--config')
await import('../../../src/main.ts')
