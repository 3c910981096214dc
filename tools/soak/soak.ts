/**
 * Shows that memory stays flat while everything goes on together, for minutes: `npm run soak`. Linux only, for it reads
 * /proc. Prints tables; the exit code is 1 when a verdict fails.
 */
import { churnCache } from './cache/churn.ts'
import { judgeChurn } from './cache/judge.ts'
import { judgeHttp2 } from './http2/judge.ts'
import { judgeIdle, measureIdle } from './idle.ts'
import { judgeRun } from './judge-run.ts'
import { soak } from './long-run.ts'
import { type Options, readOptions, usage } from './options.ts'
import { judgeSlow, measureSlow } from './slow.ts'
import { renderChurn, renderHttp2, renderIdle, renderRun, renderSlow, renderVerdicts } from './table.ts'
import type { Verdict } from './verdict.ts'

const measure = async (options: Options): Promise<readonly [text: string, verdicts: readonly Verdict[]]> => {
  if (options.idle !== null) {
    const measured = await measureIdle(options.idle)
    return [renderIdle(measured), judgeIdle(measured)]
  }
  if (options.slow !== null) {
    const measured = await measureSlow(options.slow)
    return [renderSlow(measured), judgeSlow(measured)]
  }
  if (options.cache) {
    const measured = await churnCache(options.minutes)
    return [renderChurn(measured), judgeChurn(measured)]
  }
  if (options.http2) {
    // Finds its clients, and installs what is missing, as it is loaded.
    const { soakHttp2 } = await import('./http2/soak-http2.ts')
    const measured = await soakHttp2(options.minutes)
    return [renderHttp2(measured), judgeHttp2(measured)]
  }
  const measured = await soak(options.minutes, options.workers)
  return [renderRun(measured), judgeRun(measured)]
}

const read = (): Options => {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const [text, verdicts] = await measure(read())
console.log(`${new Date().toISOString()}, Node ${process.version}\n\n${text}\n\n${renderVerdicts(verdicts)}`)
process.exit(verdicts.every(({ held }) => held) ? 0 : 1)
