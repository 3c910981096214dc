import type { ClientRequest, IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { wallClock } from '../../clock.ts'
import type { Read } from '../../shared/shape.ts'
import { formatDuration, formatSize } from '../../units.ts'
import { hostField, type Target, Unasked, unasked, urlOf } from './target.ts'

/** Is what is asked of a gateway. */
export interface Question {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: string
  /** Longest time until the whole answer is there. */
  readonly limitMs: number
  /** Most bytes of the answer. */
  readonly maxBytes?: number
  /** Whether it does not matter who answers: any certificate will do, and no token is sent. */
  readonly ofAnybody?: true
}

/** Is what a gateway says. Nothing of it is checked yet. */
export interface Reply {
  readonly status: number
  readonly body: unknown
  /** The gateway's own clock, in milliseconds since the epoch. */
  readonly at: number
}

/**
 * Asks a gateway's admin listener. Throws {@link Unasked} when there is no answer in time, when it is no JSON, when it says that this
 * asker or this way of asking is not welcome, or when an order would go where nothing but a guess leads; what else it says is for the caller.
 */
export const ask = async (target: Target, question: Question): Promise<Reply> => {
  // Another gateway may listen where it is guessed to be, and what an order does there cannot be taken back.
  if (question.method !== 'GET' && target.isGuessed)
    throw unasked(`${target.doubt}, so it is not known which gateway is meant: give --config FILE or --admin URL`)
  const { status, date, text } = await askText(target, question)
  const body = parsed(text)
  if (!meant.has(status)) throw (await import('./unreached.ts')).refusal(target, question.path, status, body)
  if (body === undefined)
    throw unasked(`${urlOf(target)} answers with something other than JSON (${status}): ${notOurs}`)
  if (!isShallow(body)) throw unasked(`${urlOf(target)} answers with JSON that is nested too deeply: ${notOurs}`)
  const at = Date.parse(date)
  return { status, body, at: Number.isNaN(at) ? wallClock() : at }
}

/** An answer to a question that changes nothing. */
export interface Got<T> {
  /** What was checked, harmless to a terminal. */
  readonly told: T
  /** All of it, as it came. */
  readonly body: unknown
  /** The gateway's own clock, in milliseconds since the epoch. */
  readonly at: number
}

/** Gets an answer of a gateway and checks it. Throws {@link Unasked} as {@link ask} does, and when it is not what `read` reads. */
export const get = async <T>(target: Target, path: string, read: Read<T>): Promise<Got<T>> => {
  const { body, at } = await ask(target, { method: 'GET', path, limitMs: 5000 })
  const { understood } = await import('./understood.ts')
  return { told: understood(target, body, read), body, at }
}

/** Asks the same, and takes any answer as it comes. Throws {@link Unasked} when there is none in time. */
export const askText = (target: Target, question: Question): Promise<Raw> =>
  // What explains a failure is loaded when there is one: a health check asks every few seconds, each time in a process of its own.
  exchange(target, question).catch(async (error: Error) => {
    throw error instanceof Unasked ? error : (await import('./unreached.ts')).unreached(target, error)
  })

/** Lists the answers that a gateway gives to a question that it understood. */
const meant: ReadonlySet<number> = new Set([200, 400, 409, 422, 503])

const notOurs = 'is that the admin listener of a lender gateway?'

/** Is an answer as it came. */
export interface Raw {
  readonly status: number
  readonly date: string
  readonly text: string
}

// A configuration file is at most 1 MiB; what it amounts to is longer, with every default filled in.
const defaultMaxBytes = 8 * 1024 ** 2

const exchange = async (target: Target, question: Question): Promise<Raw> => {
  const { method, path, limitMs, maxBytes = defaultMaxBytes } = question
  const trusted = await trust(target, question)
  const { request: send } = await (target.tls ? import('node:https') : import('../../node-http.ts'))
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
      request.destroy()
    }
    const late = (): void => fail(unasked(`${urlOf(target)} has not answered within ${formatDuration(limitMs)}`))
    const timer = setTimeout(late, limitMs)
    const request: ClientRequest = send({ ...addressed(target, question), ...trusted, method, path })
    request.on('error', fail)
    request.on('response', (answer: IncomingMessage) => {
      const chunks: Buffer[] = []
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > maxBytes) fail(unasked(`${urlOf(target)} answers with over ${formatSize(maxBytes)}: ${notOurs}`))
      })
      answer.on('error', fail)
      answer.on('end', () => {
        clearTimeout(timer)
        const { statusCode = 0, headers } = answer
        resolve({ status: statusCode, date: headers.date ?? '', text: Buffer.concat(chunks).toString('utf8') })
      })
    })
    request.end(question.body)
  })
}

const trust = async (target: Target, { ofAnybody }: Question): Promise<RequestOptions> => {
  if (ofAnybody) return { rejectUnauthorized: false }
  return target.certificate === null ? {} : (await import('./unreached.ts')).pinned(target, target.certificate)
}

const addressed = (target: Target, { ofAnybody }: Question): RequestOptions => {
  const { host, port, token } = target
  const headers = { Host: hostField(target), Accept: 'application/json, */*;q=0.5' }
  const authorization = token === null || ofAnybody ? {} : { Authorization: `Bearer ${token.value}` }
  // One request a process: no agent, so that nothing is kept open.
  return { host, port, agent: false, headers: { ...headers, ...authorization } }
}

// A configuration has a tenth of it. What writes JSON calls itself at each level.
const deepest = 100

const isShallow = (value: unknown, room = deepest): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (room > 0 && Object.values(value).every((each) => isShallow(each, room - 1)))

/** Parses JSON; undefined: it is none. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
