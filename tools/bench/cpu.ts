/** Reads the CPU time of a process and of all that descends from it, on Linux. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export interface CpuReading {
  /** User and system time of the live threads, from schedstat: nanoseconds, but an ended thread's share is lost. */
  readonly liveNs: number
  /** User and system time from stat: whole ticks (10 ms), ended threads and ended children included. */
  readonly ticksNs: number
}

/** Reads user plus system time spent so far by `pid` and its descendants. */
export const readCpu = (pid: number): CpuReading => {
  let liveNs = 0
  let ticksNs = 0
  for (const id of processTree(pid)) {
    liveNs += threadsNs(id)
    ticksNs += ticks(id) * tickNs()
  }
  return { liveNs, ticksNs }
}

/**
 * Returns the CPU time between two readings in nanoseconds: the exact one, unless a thread or child that ended in
 * between took its share with it, which shows as more than three ticks of difference.
 */
export const cpuBetween = (before: CpuReading, after: CpuReading): number => {
  const live = after.liveNs - before.liveNs
  const whole = after.ticksNs - before.ticksNs
  return whole - live > 3 * tickNs() ? whole : live
}

/** Lists `pid` and its descendants: nginx does its work in a child of the process that was started. */
export const processTree = (pid: number): readonly number[] => {
  const children = threads(pid).flatMap((thread) =>
    read(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(processTree)]
}

/** What the processors' time has gone to since the machine started, in ticks. */
export interface StolenReading {
  readonly stolen: number
  readonly all: number
}

/** Reads how much of the processors' time the host gave to others while a process here waited for it. */
export const readStolen = (): StolenReading => {
  // user nice system idle iowait irq softirq steal guest guest_nice; what guests take is in user's already.
  const spent = read('/proc/stat').split('\n', 1)[0]?.split(/ +/).slice(1, 9).map(Number) ?? []
  return { stolen: spent[7] ?? 0, all: spent.reduce((sum, ticks) => sum + ticks, 0) }
}

/** Returns the share of the processors' time that was stolen between two readings. */
export const stolenBetween = (before: StolenReading, after: StolenReading): number =>
  after.all === before.all ? 0 : (after.stolen - before.stolen) / (after.all - before.all)

const threads = (pid: number): readonly string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

const threadsNs = (pid: number): number =>
  threads(pid).reduce((sum, thread) => {
    const [onCpu = '0'] = read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')
    return sum + Number(onCpu)
  }, 0)

const ticks = (pid: number): number => {
  const stat = read(`/proc/${pid}/stat`)
  // The command's name is in parentheses and may hold blanks. After it: state is field 3, utime 14, stime 15, cutime
  // 16, cstime 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
}

let knownTickNs = 0

const tickNs = (): number => {
  if (knownTickNs === 0) knownTickNs = 1e9 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  return knownTickNs
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The thread or process ended between listing and reading.
    return ''
  }
}
