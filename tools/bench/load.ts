/** Puts load on a peer from a process of its own: wrk, or the generator of this folder where there is none. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { program } from '../../test/helpers/program.ts'
import type { Task } from './load-worker.ts'
import type { Running } from './process.ts'
import { requestTexts } from './request-text.ts'
import type { Fields, Workload } from './workload.ts'

export interface Turn {
  /** Responses that came back complete with a status below 400. */
  readonly served: number
  /** Responses with another status, broken connections, timeouts. */
  readonly failed: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Set where connections are opened before the part that counts. */
  readonly steady?: SteadyTurn
}

export interface SteadyTurn {
  /** Requests begun a second. */
  readonly rate: number
  /** Responses that ended in that part. */
  readonly served: number
}

/** Callbacks at the beginning and the end of the part that counts, from a load that has one. */
export interface Watch {
  readonly begin: () => void
  readonly end: () => void
}

export interface Load {
  readonly name: string
  readonly run: (
    to: Pick<Running, 'port' | 'speaks' | 'shows'>,
    workload: Workload,
    seconds: number,
    connections: number,
    watch?: Watch,
  ) => Promise<Turn>
}

/**
 * Chooses the generator. wrk takes the least CPU time beside what is measured, so it is the choice where it is present.
 */
export const chooseLoad = async (directory: string): Promise<Load> => {
  const { path } = await program('wrk')
  return path === null ? ownLoad : wrkLoad(path, directory)
}

const wrkLoad = (path: string, directory: string): Load => ({
  name: 'wrk, 1 thread',
  run: async ({ port, speaks, shows = null }, workload, seconds, connections) => {
    if (shows !== null) throw new Error('wrk shows no certificate')
    const script = join(directory, `${workload.name}.lua`)
    const turns = join(directory, `${workload.name}.fields`)
    await writeFile(turns, (workload.byTurns ?? []).map(lineOf).join(''))
    await writeFile(script, wrkScript(workload, turns))
    const target = `${speaks}://127.0.0.1:${port}${workload.target}`
    const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, target]
    return lastJsonLine(await output(path, args, seconds))
  },
})

/** Writes the fields of one request as a line. */
const lineOf = (fields: Fields): string =>
  `${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\t')}\n`

const wrkScript = ({ operation, fields, byTurns, body }: Workload, turns: string): string => `
wrk.method = ${lua(operation.method)}
${body === '' ? '' : `wrk.body = ${lua(body)}`}
${Object.entries(fields)
  .map(([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`)
  .join('\n')}
${byTurns === undefined ? '' : inTurn(turns)}
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('{"served":%d,"failed":%d,"seconds":%.6f,"p50Ms":%.3f,"p99Ms":%.3f}\\n',
    summary.requests - e.status, e.status + e.connect + e.read + e.write + e.timeout, summary.duration / 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
`

/** Makes a request of each line of a file before the first is sent, and sends them in turn. */
const inTurn = (file: string): string => `
local requests, nth = {}, 0
function init()
  for line in io.lines(${lua(file)}) do
    for name, value in string.gmatch(line, "([^\\t:]+): ([^\\t]*)") do wrk.headers[name] = value end
    requests[#requests + 1] = wrk.format()
  end
end
function request()
  nth = nth % #requests + 1
  return requests[nth]
end
`

/** Writes a Lua string. JSON's escapes are Lua's for the ASCII text used here. */
const lua = (text: string): string => JSON.stringify(text)

/** The generator of this folder, the only one that shows certificates. */
export const ownLoad: Load = {
  name: 'own generator, node:net',
  run: async ({ port, speaks, shows = null }, workload, seconds, connections) => {
    if (speaks === 'h2') throw new Error('this generator speaks no HTTP/2')
    const made: Task = {
      port,
      tls: speaks === 'https' ? { rejectUnauthorized: false, ...shows } : null,
      requests: requestTexts(port, workload),
      seconds,
      connections,
    }
    const task = JSON.stringify(made)
    return lastJsonLine(await output(process.execPath, [join(import.meta.dirname, 'load-worker.ts')], seconds, task))
  },
}

/** Runs a generator to its end and gives what it said. */
export const output = (path: string, args: readonly string[], seconds: number, input = ''): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = execFile(
      path,
      args,
      { timeout: Math.ceil(seconds + 30) * 1_000, encoding: 'utf8' },
      (error, stdout) => {
        if (error === null) resolve(stdout)
        else reject(error)
      },
    )
    child.stdin?.end(input)
  })

const lastJsonLine = (text: string): Turn => {
  const line = text
    .split('\n')
    .filter((each) => each.startsWith('{'))
    .at(-1)
  if (line === undefined) throw new Error(`the load generator said: ${text}`)
  return JSON.parse(line)
}
