/** Starts the gateway of a source tree, watched by a profiler where that is asked for. */
import { mkdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Pair } from '../../../test/helpers/certificates.ts'
import { type PerfRecord, recordPerf } from '../perf.ts'
import { type Running, type Speech, startServer } from '../process.ts'
import { probePath, type Site } from './peer.ts'

/** The tree that this file belongs to. */
export const projectRoot = join(import.meta.dirname, '../../..')

const profiles = join(projectRoot, '.bench')

/** Node writes a profile when the process exits by itself, and a graceful shutdown would put its waits into it. */
const endOnTerm = "data:text/javascript,process.once('SIGTERM',()=>process.exit(0))"

/** Reads what `npm start` of a tree runs: Node's flags, the file, and the limit on the arenas of glibc. */
const startOf = (tree: string) => {
  const { scripts } = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8'))
  const [, flags = '', file = ''] = /\bnode ((?:--\S+ )*)(src\/\S+) serve/.exec(scripts.start) ?? []
  const [, arenas] = /\bMALLOC_ARENA_MAX=\$\{MALLOC_ARENA_MAX-(\d+)\}/.exec(scripts.start) ?? []
  const env: NodeJS.ProcessEnv = arenas === undefined ? {} : { MALLOC_ARENA_MAX: arenas }
  return { flags: flags.split(' ').filter(Boolean), main: join(tree, file), env }
}

/**
 * Starts `tree`'s gateway with the file that `text` makes for a port to listen on; `shows` is the certificate that it
 * asks clients for.
 */
export const serveTree = async (
  tree: string,
  { directory, options }: Site,
  text: (port: number) => string,
  speaks: Speech = 'http',
  shows: Pair | null = null,
): Promise<Running> => {
  // The site's directory is named after the peer.
  const name = basename(directory)
  const profiling = ['--cpu-prof', `--cpu-prof-dir=${join(profiles, name)}`, '--import', endOnTerm]
  // V8 writes a log of its own beside the names of functions, into the current directory unless a flag says where.
  const named = [
    '--perf-basic-prof-only-functions',
    `--logfile=${join(directory, 'v8.log')}`,
    '--no-logfile-per-isolate',
  ]
  const flags = [...(options.profile ? profiling : []), ...(options.perf ? [...named, '--import', endOnTerm] : [])]
  const start = startOf(tree)
  const running = await startServer(
    directory,
    probePath,
    async (port) => {
      const file = join(directory, 'gateway.yaml')
      await writeFile(file, text(port))
      return {
        path: process.execPath,
        env: start.env,
        args: [...start.flags, ...flags, start.main, 'serve', '--config', file],
      }
    },
    speaks,
    shows,
  )
  return options.perf ? watched(running, join(directory, 'perf.data'), join(profiles, `${name}.perf.txt`)) : running
}

const watched = async (running: Running, data: string, result: string): Promise<Running> => {
  mkdirSync(profiles, { recursive: true })
  const record: PerfRecord = await recordPerf(running.pid, data)
  const stop = async (): Promise<void> => {
    await record.end(result)
    await running.stop()
    record.forget()
  }
  return { ...running, stop }
}
