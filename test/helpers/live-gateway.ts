import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'
import type { Environment } from '../../src/core/config/environment.ts'
import { loadConfig } from '../../src/core/config/load/load-config.ts'
import { type Gateway, startGateway } from '../../src/core/runtime/gateway.ts'
import { configText, type LogLine, logInMemory, type Settings } from './gateway.ts'

/** A gateway whose file can be edited while it runs. */
export interface LiveGateway {
  readonly gateway: Gateway
  readonly file: string
  readonly folder: string
  /** The URL of the public listener. */
  readonly url: string
  /** The URL of the admin listener. */
  readonly admin: string
  readonly lines: readonly LogLine[]
  /** Waits for a line of the log. */
  line(wanted: (line: LogLine) => boolean): Promise<LogLine>
  /** Writes the file in place. */
  edit(settings: Settings | string): void
}

/** A response of the admin listener. */
export interface AdminJsonResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: { readonly [member: string]: never }
}

/** Boots a gateway from a file that stays; what it watches is up to `settings.reload` (nothing unless said). */
export const bootLiveGateway = (settings: Settings = {}, environment: Environment = {}): Promise<LiveGateway> =>
  openLiveGateway(settings, environment, onTestFinished)

/** Boots one for all tests of a file or a suite; called at the top of the file, or in a `beforeAll`. */
export const shareLiveGateway = (settings: Settings = {}): Promise<LiveGateway> =>
  openLiveGateway(settings, {}, (end) => afterAll(end))

const openLiveGateway = async (
  settings: Settings,
  environment: Environment,
  atTheEnd: (end: () => Promise<void>) => void,
): Promise<LiveGateway> => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  const file = join(folder, 'gateway.yaml')
  const edit = (next: Settings | string): void =>
    writeFileSync(
      file,
      typeof next === 'string'
        ? next
        : configText({ ...(settings.reload === undefined ? {} : { reload: settings.reload }), ...next }),
    )
  edit(settings)
  const loaded = loadConfig(file, environment)
  if (!loaded.ok) throw new Error(`the test's configuration is refused: ${JSON.stringify(loaded.problems, null, 2)}`)
  const { log, lines, line } = logInMemory()
  const gateway = await startGateway({ file, loaded, environment, log, droppedLines: () => 0, forwardLines: () => {} })
  atTheEnd(async () => {
    await gateway.close()
    rmSync(folder, { recursive: true })
  })
  return {
    gateway,
    file,
    folder,
    url: `http://127.0.0.1:${gateway.address.port}`,
    admin: `http://127.0.0.1:${gateway.adminAddress.port}`,
    lines,
    line,
    edit,
  }
}

/** Asks the admin listener. */
export const fetchAdmin = async (url: string, method = 'GET', init: RequestInit = {}): Promise<AdminJsonResponse> => {
  const response = await fetch(url, { method, ...init })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as AdminJsonResponse['body'],
  }
}
