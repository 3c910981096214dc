import type { Pool } from 'undici'
import { Alarm } from '../clock.ts'
import { formatDuration, formatSize } from '../units.ts'

/**
 * A server that the gateway itself asks something of: keys, whether a token is good. Not an upstream: nothing of a
 * client's goes there.
 */
export type Server = ReturnType<typeof openServer>

/** Is what is asked. */
export interface Question {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Is what was answered, whatever the status: a redirect is an answer as any other. */
export interface Reply {
  readonly status: number
  readonly text: string
}

/** Bounds what a server may cost. */
export interface ServerBounds {
  /** How long a question takes, connecting and reading included. */
  readonly timeoutMs: number
  readonly maxBytes: number
  readonly connections: number
}

/** Is below what most servers close an idle connection after, so that seldom one is used that has just been closed. */
const keepAliveMs = 3000

/** Knows how to ask the server of a URL. Its certificate is always verified; `NODE_EXTRA_CA_CERTS` adds authorities of one's own. */
export const openServer = (url: URL, { timeoutMs, maxBytes, connections }: ServerBounds) => {
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
  const once = async ({ method, headers, body }: Question, signal: AbortSignal): Promise<Reply> => {
    if (closed) throw new Error('closed')
    pool ??= open()
    const answer = await (await pool).request({
      path,
      method,
      // RFC 9110 §12.5.3: whoever says nothing of codings takes them all, and here none is undone.
      headers: { 'user-agent': 'lender-gateway', 'accept-encoding': 'identity', ...headers },
      body: body ?? null,
      signal,
    })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of answer.body) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new Error(`the answer is larger than ${formatSize(maxBytes)}`)
      chunks.push(chunk)
    }
    return { status: answer.statusCode, text: Buffer.concat(chunks).toString('utf8') }
  }
  return {
    /** Asks once. Rejects with an Error whose message is for operators, and holds nothing of what was sent. */
    async ask(question: Question): Promise<Reply> {
      const late = new AbortController()
      const alarm = new Alarm(() => late.abort(new Error(`no answer within ${formatDuration(timeoutMs)}`)))
      alarm.set(timeoutMs)
      try {
        // All that is asked here can be asked again, and an idle connection may just have been closed.
        return await once(question, late.signal).catch((error) =>
          isClosed(error) ? once(question, late.signal) : Promise.reject(error),
        )
      } catch (error) {
        throw new Error(reasonOf(error))
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
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join(', ')
  return error.message === '' ? ((error as NodeJS.ErrnoException).code ?? error.name) : error.message
}
