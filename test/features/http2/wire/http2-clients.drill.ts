/**
 * Real clients of HTTP/2 with requests under way while a connection is to end. Java's is the one that takes GOAWAY for
 * an error: until it comes, everything goes on.
 */
import { execFile, spawn } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { folderWith } from '../../../core/config/helper.ts'
import { configText, type Settings } from '../../../helpers/gateway.ts'
import { listenHttp2, missing } from '../../../helpers/http2.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { serve, waitForListening } from '../../../helpers/serve-process.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const [javac, java, curl] = [await needProgram('javac'), await needProgram('java'), await needProgram('curl')]

/** Sends some POSTs at once, on one connection after the first, and returns of each a version and a status. */
type Client = (count: number, url: string) => Promise<readonly string[]>

/** Starts a program that reads tasks and prints a line for each. */
const startJava = (): Client => {
  const quickly = ['-Xshare:auto', '-XX:TieredStopAtLevel=1']
  const trusting = '-Djdk.internal.httpclient.disableHostnameVerification'
  const args = [...quickly, trusting, join(import.meta.dirname, 'http2-clients', 'Posts.java')]
  const child = spawn(java.path ?? '', args, { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return async (count, url) => {
    child.stdin.write(`${count} ${url}\n`)
    return ((await lines.next()).value ?? 'the client has ended').split('\t')
  }
}

// It has the first connection to itself until that says whether it speaks HTTP/2.
const postWithCurl: Client = async (count, url) => {
  const each = ['-sS', '-k', '--http2', '-d', '{}', '-o', '/dev/null', '-w', 'HTTP_%{http_version} %{http_code}\n', url]
  const all = Array.from({ length: count }, (_, n) => (n === 0 ? each : ['--next', ...each])).flat()
  const args = ['--no-progress-meter', '--parallel', ...all]
  const { stdout, stderr } = await promisify(execFile)(curl.path ?? '', args).catch((error) => error)
  return `${stderr}${stdout}`.trim().split('\n')
}

/** Opens an upstream that holds what it is asked while `hold` says so. */
const openHoldingUpstream = async () => {
  const held: ServerResponse[] = []
  let holds = false
  const upstream = await httpUpstream((_, response) => void (holds ? held.push(response) : response.end('{}')))
  return {
    settings: (listen: object): Settings => ({
      upstream: upstream.url,
      listen: { ...listenHttp2(), ...listen },
      shutdown: { wait: '0s', deadline: '60s' },
    }),
    hold: () => {
      holds = true
    },
    /** Waits until `count` requests are held. */
    holding: (count: number) => eventually(() => held.length === count),
    release: () => {
      holds = false
      for (const response of held.splice(0)) response.end('{}')
    },
  }
}

type Upstream = Awaited<ReturnType<typeof openHoldingUpstream>>

/** A gateway whose connections a test can bring to an end. */
interface EndingGateway {
  readonly port: number
  /** Makes the gateway end its connections, as soon as it may. */
  end(): Promise<unknown>
  close(): Promise<unknown>
}

const bootEdited = async ({ settings }: Upstream): Promise<EndingGateway> => {
  const live = await bootLiveGateway(settings({}))
  return {
    port: live.gateway.address.port,
    end: async () => {
      live.edit(settings({ maxHeaderFields: 500 }))
      await fetchAdmin(`${live.admin}/reload`, 'POST')
    },
    close: () => live.gateway.close(),
  }
}

const bootStopping = async ({ settings }: Upstream): Promise<EndingGateway> => {
  const { gateway } = await bootLiveGateway(settings({}))
  let closed: Promise<void> | undefined
  return {
    port: gateway.address.port,
    end: async () => {
      closed = gateway.close()
    },
    close: async () => closed,
  }
}

const bootLimited = async ({ settings }: Upstream): Promise<EndingGateway> => {
  const { gateway } = await bootLiveGateway(settings({ maxRequestsPerConnection: 2 }))
  return { port: gateway.address.port, end: async () => {}, close: () => gateway.close() }
}

/** A process, which gets SIGTERM. */
const bootProcess = async ({ settings }: Upstream): Promise<EndingGateway> => {
  const text = configText({ ...settings({}), shutdown: { wait: '2s' } })
  const served = serve(join(folderWith({ 'gateway.yaml': text }), 'gateway.yaml'))
  const port = await waitForListening(served)
  return {
    port,
    end: async () => {
      served.signal('SIGTERM')
      await served.line(({ msg }) => msg === 'stopping')
    },
    close: () => served.exited,
  }
}

const causes = [bootEdited, bootStopping, bootLimited, bootProcess]

/** Brings connections to an end while requests are under way, and returns what became of these. */
const endWhileUnderWay = async (client: Client, rounds: number, atOnce: number): Promise<readonly string[]> => {
  const upstream = await openHoldingUpstream()
  const outcomes: string[] = []
  for (let round = 0; round < rounds; round++) {
    const gateway = await (causes[round % causes.length] ?? bootEdited)(upstream)
    const url = `https://127.0.0.1:${gateway.port}/valuation/score`
    // The others share its connection.
    outcomes.push(...(await client(1, url)))
    upstream.hold()
    const answered = client(atOnce, url)
    await upstream.holding(atOnce)
    await gateway.end()
    upstream.release()
    outcomes.push(...(await answered))
    await gateway.close()
  }
  return outcomes
}

describe.skipIf(missing !== null)(
  'requests under way while a gateway restarts, is edited, or has served the last',
  () => {
    test.skipIf(javac.missing ?? java.missing)(
      'of Java: 200 of 200 get their response',
      { timeout: 300_000 },
      async () => {
        expect(await endWhileUnderWay(startJava(), 4, 49)).toEqual(Array(200).fill('HTTP_2 200'))
      },
    )

    test.skipIf(curl.missing)('of curl all get their response', async () => {
      expect(await endWhileUnderWay(postWithCurl, 4, 24)).toEqual(Array(100).fill('HTTP_2 200'))
    })
  },
)
