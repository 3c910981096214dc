import './install-features.ts'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { onTestFinished } from 'vitest'
import type { Config } from '../../src/core/config/config.ts'
import type { LoadedConfig } from '../../src/core/config/load/load.ts'
import { parseConfig } from '../../src/core/config/load/load-config.ts'
import { logOptions } from '../../src/core/log/log.ts'
import { type Gateway, type GatewayOptions, startGateway } from '../../src/core/runtime/gateway.ts'
import { groups } from '../../src/operations.ts'
import { type LogLine, logLines } from './log-lines.ts'

export type { LogLine } from './log-lines.ts'

type Tree = { readonly [key: string]: unknown }

type Section =
  | ('listen' | 'upstreams' | 'limits' | 'auth' | 'admin' | 'reload' | 'defaults' | 'operations' | 'instance')
  | ('requestId' | 'audit' | 'cache' | 'idempotency' | 'contract' | 'tracing' | 'log' | 'shutdown')

/** What differs from the defaults; `upstream` stands behind every group that `upstreams` does not name. */
export interface Settings extends Partial<Readonly<Record<Section, Tree>>> {
  readonly upstream?: unknown
  readonly clients?: readonly Tree[] | string
  readonly metrics?: boolean | 'none' | Tree
  readonly allowSandbox?: boolean
  readonly workers?: number
}

/** A gateway under test, in this process, on a free port, with its log in memory. */
export interface TestGateway {
  readonly gateway: OpenedGateway
  readonly port: number
  readonly url: string
  /** Log lines so far, parsed. */
  readonly lines: readonly LogLine[]
  /** Waits for the access line of a request that satisfies `wanted`. */
  line(wanted: (line: LogLine) => boolean): Promise<LogLine>
}

/** What most tests need of a gateway. */
export type OpenedGateway = Pick<Gateway, 'address' | 'close'>

/** Writes the configuration that a test asks for, as YAML would be written (JSON is YAML). */
export const configText = ({
  upstream = 'sandbox',
  upstreams = {},
  listen = {},
  admin = {},
  reload = { watch: false },
  ...rest
}: Settings = {}): string =>
  JSON.stringify({
    listen: { host: '127.0.0.1', port: 0, ...listen },
    admin: { port: 0, ...admin },
    reload: { preflight: 'none', ...reload }, // most endpoints here are names that do not resolve
    upstreams: { ...Object.fromEntries(groups.map((group) => [group, upstream])), ...upstreams },
    ...rest,
  })

/** Resolves the configuration that a test asks for, as a file would be. */
export const testConfig = (settings: Settings = {}): Config => loadSettings(settings).config

const loadSettings = (settings: Settings): LoadedConfig => {
  const loaded = parseConfig(Buffer.from(configText(settings)), join(tmpdir(), 'gateway.yaml'), process.env)
  if (!loaded.ok) throw new Error(`the test's configuration is rejected: ${JSON.stringify(loaded.problems, null, 2)}`)
  return loaded
}

/** Boots a gateway with what its file would say, and closes it when the test has finished (`onTestFinished`). */
export const bootGateway = async (settings: Settings = {}): Promise<TestGateway> => {
  const booted = await openGateway(settings)
  onTestFinished(() => booted.gateway.close())
  return booted
}

/** Boots a gateway that the caller closes, for use in `beforeAll`. `start` may put a broken one in its place. */
export const openGateway = async (
  settings: Settings = {},
  start: (options: GatewayOptions) => Promise<OpenedGateway> = startGateway,
): Promise<TestGateway> => {
  const loaded = loadSettings(settings)
  const { log, lines, line } = logInMemory()
  const gateway = await start({
    file: 'gateway.yaml',
    loaded,
    environment: {},
    log,
    droppedLines: () => 0,
    forwardLines: () => {},
  })
  const { port } = gateway.address
  return { gateway, port, url: `http://127.0.0.1:${port}`, lines, line }
}

/** Makes a log whose lines stay in memory, parsed. */
export const logInMemory = () => {
  const { lines, add, line } = logLines()
  const log = pino(logOptions('info'), { write: (text: string) => add(JSON.parse(text)) })
  return { log, lines, line }
}
