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
  /** Port and URL of the public listener. */
  readonly port: number
  readonly url: string
  /** The URL of the admin listener. */
  readonly admin: string
  readonly lines: readonly LogLine[]
  /** Waits for a line of the log. */
  line(wanted: (line: LogLine) => boolean): Promise<LogLine>
  /** Writes the file in place. */
  edit(settings: Settings | string): void
  /** Closes it and removes its folder. */
  close(): Promise<void>
}

/** A response of the admin listener. */
export interface AdminJsonResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: { readonly [member: string]: never }
}

/** Boots a gateway from a file that stays; what it watches is up to `settings.reload` (nothing unless said). */
export const bootLiveGateway = async (settings: Settings = {}, environment: Environment = {}): Promise<LiveGateway> => {
  const live = await openLiveGateway(settings, environment)
  onTestFinished(live.close)
  return live
}

/** Boots one for all tests of a file or a suite; called at the top, and not in a `beforeAll`. */
export const shareLiveGateway = async (settings: Settings = {}): Promise<LiveGateway> => {
  const live = await openLiveGateway(settings)
  afterAll(live.close)
  return live
}

/** Boots one that its caller closes: a `beforeAll` returns what does so (Vitest ignores an `afterAll` in it). */
export const openLiveGateway = async (settings: Settings = {}, environment: Environment = {}): Promise<LiveGateway> => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
  const file = join(folder, 'gateway.yaml')
  const remove = (): void => rmSync(folder, { recursive: true })
  const edit = (next: Settings | string): void =>
    writeFileSync(
      file,
      typeof next === 'string'
        ? next
        : configText({ ...(settings.reload === undefined ? {} : { reload: settings.reload }), ...next }),
    )
  try {
    edit(settings)
    const loaded = loadConfig(file, environment)
    if (!loaded.ok) throw new Error(`the test's configuration is rejected: ${JSON.stringify(loaded.problems, null, 2)}`)
    const { log, lines, line } = logInMemory()
    const options = { file, loaded, environment, log, droppedLines: () => 0, forwardLines: () => {} }
    const gateway = await startGateway(options)
    const close = async (): Promise<void> => {
      await gateway.close()
      remove()
    }
    const { port } = gateway.address
    const url = `http://127.0.0.1:${port}`
    const admin = `http://127.0.0.1:${gateway.adminAddress.port}`
    return { gateway, file, folder, port, url, admin, lines, line, edit, close }
  } catch (error) {
    remove()
    throw error
  }
}

/** One gateway for all tests of a file, before an upstream that does what each test says. */
export interface SharedGateway {
  readonly live: LiveGateway
  /** The port of the public listener. */
  readonly port: number
  /** The upstream, and its URL. */
  readonly server: TestUpstream
  readonly upstream: string
  /** The lines of the log so far. */
  readonly lines: readonly LogLine[]
  /** Says how the upstream responds from now on; what it received is counted anew. */
  respondWith(responder: Responder): void
  /** Requests that arrived to the end since then. */
  received(): readonly ReceivedRequest[]
  /** How many requests began since then. */
  begun(): number
}

/** Opens it before the tests of a file or a suite, and closes it behind them; `settings` may depend on the upstream. */
export const liveGatewayForAll = (settings: Settings | ((upstream: string) => Settings) = {}): SharedGateway => {
  let live: LiveGateway
  let upstream: TestUpstream
  let responding: Responder = (_, response) => void response.end()
  let before = { requests: 0, begun: 0 }
  beforeAll(async () => {
    upstream = await openHttpUpstream((request, response) => responding(request, response))
    const given = typeof settings === 'function' ? settings(upstream.url) : settings
    live = await openLiveGateway({ upstream: upstream.url, ...given })
    return async () => {
      await live.close()
      await upstream.close()
    }
  })
  return {
    get live() {
      return live
    },
    get port() {
      return live.port
    },
    get server() {
      return upstream
    },
    get upstream() {
      return upstream.url
    },
    get lines() {
      return live.lines
    },
    respondWith(responder) {
      responding = responder
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
