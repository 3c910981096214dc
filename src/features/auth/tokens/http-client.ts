import type { Pool } from 'undici'
import { CoalescedTimer } from '../../../core/lib/clock.ts'
import { verifiedTls } from '../../../core/lib/net/tls.ts'
import { formatSize } from '../../../core/lib/text/units.ts'
import { NoAnswerError } from '../../../core/lib/try.ts'

/**
 * The client of a server that the gateway itself calls: for an issuer's keys, or to introspect a token. Not an
 * upstream: nothing of a client's request goes there.
 */
export type HttpClient = ReturnType<typeof createHttpClient>

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** The response, whatever its status: a redirect is a response as any other. */
interface HttpResult {
  readonly status: number
  readonly text: string
}

interface HttpClientLimits {
  /** How long a request takes, connecting and reading included. */
  readonly timeoutMs: number
  readonly maxBytes: number
  readonly connections: number
}

/**
 * Less than the time after which most servers close an idle connection, so that seldom one is used that has just been
 * closed.
 */
const keepAliveMs = 3000

/** Creates the client of a URL's server. Its certificate is always verified; `NODE_EXTRA_CA_CERTS` adds authorities. */
export const createHttpClient = (url: URL, { timeoutMs, maxBytes, connections }: HttpClientLimits) => {
  // The library is loaded with the first request: a gateway that sends none does without it.
  const open = async (): Promise<Pool> =>
    new (await import('undici')).Pool(url.origin, {
      connections,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      // The timer below keeps the time exactly.
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: timeoutMs,
      connect: verifiedTls(url.hostname),
    })
  let pool: Promise<Pool> | null = null
  let closed = false
  const path = url.pathname + url.search
  const send = async ({ method, headers, body }: HttpRequest, signal: AbortSignal): Promise<HttpResult> => {
    if (closed) throw new Error('closed')
    pool ??= open().catch((error: unknown) => {
      pool = null // without a file descriptor, say: the next request tries again
      throw error
    })
    const response = await (await pool).request({
      path,
      method,
      // RFC 9110 §12.5.3: a client that does not say accepts every coding, and none is decoded here.
      headers: { 'user-agent': 'lender-gateway', 'accept-encoding': 'identity', ...headers },
      body: body ?? null,
      signal,
    })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new Error(`the answer is larger than ${formatSize(maxBytes)}`)
      chunks.push(chunk)
    }
    return { status: response.statusCode, text: Buffer.concat(chunks).toString('utf8') }
  }
  return {
    /** Sends one request. Rejects with an Error whose message is for operators, and holds nothing of what was sent. */
    async request(request: HttpRequest): Promise<HttpResult> {
      const controller = new AbortController()
      const timer = new CoalescedTimer(() => controller.abort(new NoAnswerError(timeoutMs)))
      timer.set(timeoutMs)
      try {
        // Every request here can be repeated, and an idle connection may just have been closed.
        return await send(request, controller.signal).catch((error) =>
          isClosed(error) ? send(request, controller.signal) : Promise.reject(error),
        )
      } catch (error) {
        throw error instanceof NoAnswerError ? error : new Error(errorText(error))
      } finally {
        timer.clear()
      }
    },
    /** Aborts the requests under way. */
    close(): void {
      closed = true
      void pool?.then((opened) => opened.destroy(new Error('closed'))).catch(() => {})
    },
  }
}

const isClosed = (error: unknown): boolean =>
  error instanceof Error &&
  ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Says what went wrong, in words of the system or the library: they hold an address at most. */
const errorText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AggregateError) return [...new Set(error.errors.map(errorText))].join(', ')
  return error.message === '' ? ((error as NodeJS.ErrnoException).code ?? error.name) : error.message
}
