import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { Environment } from '../../src/core/config/environment.ts'
import { loadConfig } from '../../src/core/config/load/load-config.ts'
import { type Gateway, startGateway } from '../../src/core/runtime/gateway.ts'
import { configText, type LogLine, logInMemory, type Settings } from './gateway.ts'
import { openHttpUpstream, type ReceivedRequest, type Responder, type TestUpstream } from './upstream.ts'

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
  atTheEnd: (end: () => void | Promise<void>) => void,
): Promise<LiveGateway> => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  atTheEnd(() => rmSync(folder, { recursive: true }))
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
  atTheEnd(() => gateway.close())
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

/** One gateway for all tests of a file, before an upstream that does what each test says. */
export interface SharedGateway {
  readonly live: LiveGateway
  /** The port of the public listener. */
  readonly port: number
  /** The URL of the upstream. */
  readonly upstream: string
  /** Says how the upstream answers from now on; what it received is counted anew. */
  answerWith(responder: Responder): void
  /** Requests that arrived to the end since then. */
  received(): readonly ReceivedRequest[]
  /** How many requests began since then. */
  begun(): number
}

/** Opens it before the tests, and closes it behind them; `settings` may depend on the URL of the upstream. */
export const liveGatewayForAll = (settings: Settings | ((upstream: string) => Settings)): SharedGateway => {
  let live: LiveGateway
  let upstream: TestUpstream
  let answering: Responder = (_, response) => void response.end()
  let before = { requests: 0, begun: 0 }
  beforeAll(async () => {
    upstream = await openHttpUpstream((request, response) => answering(request, response))
    afterAll(() => upstream.close())
    const given = typeof settings === 'function' ? settings(upstream.url) : settings
    live = await shareLiveGateway({ upstream: upstream.url, ...given })
  })
  return {
    get live() {
      return live
    },
    get port() {
      return live.gateway.address.port
    },
    get upstream() {
      return upstream.url
    },
    answerWith(responder) {
      answering = responder
      before = { requests: upstream.requests.length, begun: upstream.begun() }
    },
    received: () => upstream.requests.slice(before.requests),
    begun: () => upstream.begun() - before.begun,
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
