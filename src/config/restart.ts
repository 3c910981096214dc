import { formatSize } from '../units.ts'
import type { Config } from './config.ts'
import type { Origins } from './origins.ts'
import type { Problem } from './problem.ts'

/** Is a value that a running gateway cannot change. */
interface Fixed {
  readonly path: string
  /** Writes it as the file does; null: the file does without. */
  readonly read: (config: Config) => string | null
}

const fixed: readonly Fixed[] = [
  { path: 'workers', read: ({ workers }) => String(workers) },
  { path: 'listen.host', read: ({ listen }) => listen.host },
  { path: 'listen.port', read: ({ listen }) => String(listen.port) },
  { path: 'listen.via', read: ({ listen }) => listen.via },
  { path: 'listen.http2', read: ({ listen }) => String(listen.http2) },
  { path: 'listen.tls', read: ({ listen }) => (listen.tls === null ? null : 'listen.tls') },
  { path: 'admin.host', read: ({ admin }) => admin.host },
  { path: 'admin.port', read: ({ admin }) => String(admin.port) },
  { path: 'admin.tls', read: ({ admin }) => (admin.tls === null ? null : 'admin.tls') },
  { path: 'log.buffer', read: ({ log }) => formatSize(log.bufferBytes) },
]

/** Lists what a new configuration changes that the running gateway cannot; `origins` and `file` are the new one's. */
export const needsRestart = (running: Config, next: Config, origins: Origins, file: string): readonly Problem[] =>
  fixed.flatMap(({ path, read }): readonly Problem[] => {
    const [is, wanted] = [read(running), read(next)]
    if (is === wanted) return []
    const stated = origins.get(path) ?? origins.get(`${path}.certificate`) ?? origins.get(`${path}.certificates`)
    const { line, column } = stated === undefined || stated.line === 0 ? { line: 1, column: 1 } : stated
    return [
      {
        file,
        line,
        column,
        path,
        expected: `${is ?? `no ${path}`}, which the gateway was started with`,
        found: wanted ?? 'nothing',
        message: 'this cannot change while the gateway runs: it needs a restart',
        hint: `restart the gateway, or ${is === null ? `remove ${path}` : `put ${is} back`}`,
      },
    ]
  })
