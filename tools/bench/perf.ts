/** Lets perf watch a process: where its CPU time goes, the kernel's share and V8's included. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { program } from '../../test/helpers/program.ts'
import { processTree } from './cpu.ts'
import { start } from './process.ts'

export interface PerfRecord {
  /** Ends it, and writes one line a place: samples, the file that the code is from, the function. */
  readonly end: (result: string) => Promise<void>
  /** Removes the names of functions that the processes left for perf, once they have ended. */
  readonly forget: () => void
}

/**
 * Enough for a share of a percent in a run of some seconds; an odd number, so that it does not keep step with a timer.
 */
const samplesPerSecond = 499

/** Begins to watch a process and its descendants. They must run with `--perf-basic-prof-only-functions`. */
export const recordPerf = async (pid: number, data: string): Promise<PerfRecord> => {
  const { path, missing } = await program('perf')
  if (missing !== null) throw new Error(missing)
  const watched = processTree(pid)
  const args = ['record', '-q', '-e', 'cpu-clock', '-F', String(samplesPerSecond), '-p', watched.join(','), '-o', data]
  const child = await start({ path, args }, ['ignore', 'inherit', 'inherit'])
  const end = async (result: string): Promise<void> => {
    if (child.exitCode !== null) throw new Error('perf ended before its time')
    child.kill('SIGINT')
    await once(child, 'exit')
    const script = ['script', '-i', data, '-F', 'ip,sym,dso']
    const { stdout } = await promisify(execFile)(path, script, { maxBuffer: 1024 * 1024 * 1024 })
    await writeFile(result, countSamples(stdout))
  }
  // Node writes them to where perf looks for them, and leaves them there.
  const forget = (): void => {
    for (const id of watched) rmSync(`/tmp/perf-${id}.map`, { force: true })
  }
  return { end, forget }
}

/** Counts perf script's lines: `address function (file)`. */
export const countSamples = (script: string): string => {
  const counts = new Map<string, number>()
  for (const line of script.split('\n')) {
    const [, symbol, file] = /^\s*[0-9a-f]+ (.*) \((.*)\)$/.exec(line) ?? []
    if (symbol === undefined || file === undefined) continue
    const place = `${file}\t${symbol}`
    counts.set(place, (counts.get(place) ?? 0) + 1)
  }
  const most = [...counts].sort(([, a], [, b]) => b - a)
  return most.map(([place, count]) => `${count}\t${place}\n`).join('')
}
