/** Runs a gateway that waits less for its workers than by default: `node short-timeouts.ts FILE`. */
import { defaultWorkerTimeouts } from '../../../src/features/workers/worker-timeouts.ts'

const shorter = { replyMs: 2000, reportMs: 300, connectionAckMs: 300, answerMs: 4000, saveEveryMs: 100 }
Object.assign(defaultWorkerTimeouts, shorter)
process.argv.splice(2, 0, 'serve', '--config')
await import('../../../src/main.ts')
