import type { Pool } from 'undici'
import { CoalescedTimer } from '../../../core/lib/clock.ts'
import { verifiedTls } from '../../../core/lib/net/tls.ts'
import { formatSize } from '../../../core/lib/text/units.ts'
import { NoResponseError } from '../../../core/lib/try.ts'

export type HttpClient = ReturnType<typeof createHttpClient>

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** `timeoutMs` includes connecting and reading. */
type HttpClientLimits = Readonly<Record<'timeoutMs' | 'maxBytes' | 'connections', number>>

/** Shorter than most servers' idle timeout: a reused connection is rarely closed already. */
const keepAliveMs = 3000

/**
 * Follows no redirect, sends nothing of a client's request, and always verifies the server's certificate;
 * `NODE_EXTRA_CA_CERTS` adds authorities.
 */
export const createHttpClient = (url: URL, { timeoutMs, maxBytes, connections }: HttpClientLimits) => {
  // Loads the library with the first request: most gateways send none.
  const open = async (): Promise<Pool> =>
    new (await import('undici')).Pool(url.origin, {
      connections,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      // `CoalescedTimer` below limits the whole request.
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: timeoutMs,
      connect: verifiedTls(url.hostname),
    })
  let pool: Promise<Pool> | null = null
  let closed = false
  const path = url.pathname + url.search
  const send = async ({ method, headers, body }: HttpRequest, signal: AbortSignal) => {
    if (closed) throw new Error('closed')
    pool ??= open().catch((error: unknown) => {
      pool = null // the next request tries again, for example when there is a file descriptor
      throw error
    })
    const response = await (await pool).request({
      path,
      method,
      // RFC 9110 §12.5.3: without this field a server may use any coding, and this client decodes none.
      headers: { 'user-agent': 'lender-gateway', 'accept-encoding': 'identity', ...headers },
      body: body ?? null,
      signal,
    })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new Error(`the response is larger than ${formatSize(maxBytes)}`)
      chunks.push(chunk)
    }
    return { status: response.statusCode, text: Buffer.concat(chunks).toString('utf8') }
  }
  return {
    /** The error's message is for operators, and holds nothing of the request. */
    async request(request: HttpRequest) {
      const controller = new AbortController()
      const timer = new CoalescedTimer(() => controller.abort(new NoResponseError(timeoutMs)))
      timer.set(timeoutMs)
      try {
        // An idle connection may just have been closed, and every request here can be repeated.
        return await send(request, controller.signal).catch((error) =>
          isClosed(error) ? send(request, controller.signal) : Promise.reject(error),
        )
      } catch (error) {
        throw error instanceof NoResponseError ? error : new Error(errorText(error))
      } finally {
        timer.clear()
      }
    },
    close(): void {
      closed = true
      void pool?.then((opened) => opened.destroy(new Error('closed'))).catch(() => {})
    },
  }
}

const isClosed = (error: unknown): boolean =>
  error instanceof Error &&
  ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Messages of the system or the library hold at most an address. */
const errorText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AggregateError) return [...new Set(error.errors.map(errorText))].join(', ')
  return error.message === '' ? ((error as NodeJS.ErrnoException).code ?? error.name) : error.message
}
