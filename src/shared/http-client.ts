import type { Pool } from 'undici'
import { CoalescedTimer } from '../clock.ts'
import { formatDuration, formatSize } from '../units.ts'

/**
 * A server that the gateway itself asks something of: keys, whether a token is good. Not an upstream: nothing of a
 * client's goes there.
 */
export type HttpClient = ReturnType<typeof createHttpClient>

/** Is what is asked. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Is what was answered, whatever the status: a redirect is an answer as any other. */
export interface HttpResult {
  readonly status: number
  readonly text: string
}

/** Bounds what a server may cost. */
export interface HttpClientLimits {
  /** How long a question takes, connecting and reading included. */
  readonly timeoutMs: number
  readonly maxBytes: number
  readonly connections: number
}

/** Is below what most servers close an idle connection after, so that seldom one is used that has just been closed. */
const keepAliveMs = 3000

/** Knows how to ask the server of a URL. Its certificate is always verified; `NODE_EXTRA_CA_CERTS` adds authorities of one's own. */
export const createHttpClient = (url: URL, { timeoutMs, maxBytes, connections }: HttpClientLimits) => {
  // The library is loaded with the first question: where nothing is asked, it costs nothing.
  const open = async (): Promise<Pool> =>
    new (await import('undici')).Pool(url.origin, {
      connections,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      // Times are kept here, exactly.
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: timeoutMs,
    })
  let pool: Promise<Pool> | null = null
  let closed = false
  const path = url.pathname + url.search
  const send = async ({ method, headers, body }: HttpRequest, signal: AbortSignal): Promise<HttpResult> => {
    if (closed) throw new Error('closed')
    pool ??= open()
    const response = await (await pool).request({
      path,
      method,
      // RFC 9110 §12.5.3: whoever says nothing of codings takes them all, and here none is undone.
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
    /** Asks once. Rejects with an Error whose message is for operators, and holds nothing of what was sent. */
    async request(request: HttpRequest): Promise<HttpResult> {
      const controller = new AbortController()
      const alarm = new CoalescedTimer(() =>
        controller.abort(new Error(`no answer within ${formatDuration(timeoutMs)}`)),
      )
      alarm.set(timeoutMs)
      try {
        // All that is asked here can be asked again, and an idle connection may just have been closed.
        return await send(request, controller.signal).catch((error) =>
          isClosed(error) ? send(request, controller.signal) : Promise.reject(error),
        )
      } catch (error) {
        throw new Error(errorText(error))
      } finally {
        alarm.clear()
      }
    },
    /** Breaks off whatever is asked. */
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
