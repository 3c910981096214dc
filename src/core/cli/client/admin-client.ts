import type { IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import { epochMs } from '../../lib/clock.ts'
import { verifiedTls } from '../../lib/net/tls.ts'
import { parseJson } from '../../lib/plain-object.ts'
import { version } from '../../lib/program.ts'
import { asText, DecodeError, type Decoder, getMember } from '../../lib/text/decode.ts'
import { escapeControls } from '../../lib/text/escape-controls.ts'
import { formatDuration, formatSize } from '../../lib/text/units.ts'
import { versionMismatch } from '../render/output.ts'
import { type AdminTarget, adminHostHeader, CliError, cliError, targetUrl } from './admin-target.ts'

export interface AdminRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: string
  /** Default: JSON. */
  readonly accept?: string
  readonly timeoutMs: number
  readonly maxBytes?: number
  /** Accepts any certificate, and sends no token. */
  readonly unauthenticated?: true
}

export interface AdminResponse {
  readonly status: number
  readonly body: unknown
  /** The gateway's clock, in milliseconds since the epoch. */
  readonly at: number
}

/**
 * Throws {@link CliError} if the response is late, no JSON or of an unexpected status, and for a command to a guessed
 * address.
 */
export const callAdmin = async (target: AdminTarget, adminRequest: AdminRequest): Promise<AdminResponse> => {
  // Another gateway may listen at a guessed address, and would run the command.
  if (adminRequest.method !== 'GET' && target.isDefaultAddress)
    throw cliError(
      `${target.fallbackReason}, so the command may reach another gateway: give --config FILE or --admin URL`,
    )
  const { status, date, text } = await callAdminRaw(target, adminRequest)
  const body = parseJson(text)
  // `identity-unavailable`: without the keys for operators' tokens, the gateway did not read the command.
  if (!expectedStatuses.has(status) || getMember(body, 'code') === 'identity-unavailable')
    throw (await import('./admin-errors.ts')).rejectedError(target, adminRequest.path, status, body)
  if (body === undefined) throw otherProgram(target, 'JSON', status)
  if (!isShallow(body))
    throw cliError(`${targetUrl(target)} responds with JSON that is nested too deeply: ${notAdminHint}`)
  const at = Date.parse(date)
  return { status, body, at: Number.isNaN(at) ? epochMs() : at }
}

/** Throws {@link CliError} for any status but 200. `decoded`: checked, and escaped for a terminal. */
export const getDecoded = async <T>(target: AdminTarget, path: string, decoder: Decoder<T>) => {
  const { status, body, at } = await callAdmin(target, { method: 'GET', path, timeoutMs: 5000 })
  if (status !== 200) throw (await import('./admin-errors.ts')).rejectedError(target, path, status, body)
  return { decoded: decodeResponse(target, body, decoder), body, at }
}

/** Fetches a report as text that begins with `start`. Throws {@link CliError} for any other response. */
export const getText = async (target: AdminTarget, path: string, start: string): Promise<string> => {
  const request = { method: 'GET', path, timeoutMs: 5000, accept: 'text/plain, application/json;q=0.5' } as const
  const { status, type, text } = await callAdminRaw(target, request)
  if (status !== 200) throw (await import('./admin-errors.ts')).rejectedError(target, path, status, parseJson(text))
  const isText = /^text\/plain\b/.test(type)
  const body = isText ? null : parseJson(text)
  if (body === undefined || (isText && !text.startsWith(start))) throw otherProgram(target, 'a report', status)
  // An earlier version of the gateway has only JSON.
  if (!isText) return decodeResponse(target, body, asText)
  return text.split('\n').map(escapeControls).join('\n')
}

export const decodeResponse = <T>(target: AdminTarget, body: unknown, decoder: Decoder<T>): T => {
  try {
    return decoder(body, '')
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const versions = [body, getMember(body, 'status')].map((value) => getMember(value, 'version'))
    const reported = versions.find((value) => typeof value === 'string')?.slice(0, 100) ?? version()
    const remedy = reported === version() ? 'compare the versions' : `it is ${versionMismatch(reported)}`
    throw cliError(
      `${targetUrl(target)} responds in a form that this version does not know: ${error.message}; ${remedy}`,
    )
  }
}

/** Returns a response of any status. Throws {@link CliError} if it is late or the port is unknown. */
export const callAdminRaw = async (target: AdminTarget, adminRequest: AdminRequest): Promise<RawAdminResponse> => {
  // For port 0, Node would send the token to port 80 or 443.
  if (target.port === 0) throw (await import('./admin-errors.ts')).chosenPortError(target)
  // Loaded only for an error: a health check starts a process every few seconds.
  return sendRequest(target, adminRequest).catch(async (error: Error) => {
    throw error instanceof CliError ? error : (await import('./admin-errors.ts')).unreachableError(target, error)
  })
}

const expectedStatuses: ReadonlySet<number> = new Set([200, 400, 409, 422, 503])

const otherProgram = (target: AdminTarget, expected: string, status: number): CliError =>
  cliError(`${targetUrl(target)} responds with something other than ${expected} (${status}): ${notAdminHint}`)

const notAdminHint = 'is that the admin listener of a lender gateway?'

interface RawAdminResponse {
  readonly status: number
  readonly date: string
  readonly type: string
  readonly text: string
}

// A configuration file of 1 MiB is longer with all defaults.
const defaultMaxBytes = 8 * 1024 ** 2

const sendRequest = async (target: AdminTarget, adminRequest: AdminRequest): Promise<RawAdminResponse> => {
  const { method, path, timeoutMs, maxBytes = defaultMaxBytes } = adminRequest
  const tlsOptions = await toTlsOptions(target, adminRequest)
  const { request: send } = await (target.tls ? import('node:https') : import('../../exchange/node-http.ts'))
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
      request.destroy()
    }
    const url = targetUrl(target)
    const onTimeout = (): void => fail(cliError(`${url} has not responded within ${formatDuration(timeoutMs)}`))
    const timer = setTimeout(onTimeout, timeoutMs)
    const request = send({ ...toRequestOptions(target, adminRequest), ...tlsOptions, method, path })
    request.on('error', fail).on('response', (response: IncomingMessage) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('error', fail).on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > maxBytes) fail(cliError(`${url} responds with over ${formatSize(maxBytes)}: ${notAdminHint}`))
      })
      response.on('end', () => {
        clearTimeout(timer)
        const { statusCode = 0, headers } = response
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: statusCode, date: headers.date ?? '', type: headers['content-type'] ?? '', text })
      })
    })
    request.end(adminRequest.body)
  })
}

const toTlsOptions = async (target: AdminTarget, { unauthenticated }: AdminRequest): Promise<RequestOptions> => {
  if (unauthenticated) return { ...verifiedTls(target.host), rejectUnauthorized: false }
  return target.certificate === null
    ? verifiedTls(target.host)
    : (await import('./admin-errors.ts')).pinCertificate(target, target.certificate)
}

const toRequestOptions = (target: AdminTarget, { unauthenticated, accept }: AdminRequest): RequestOptions => {
  const { host, port, token } = target
  const headers = { Host: adminHostHeader(target), Accept: accept ?? 'application/json, */*;q=0.5' }
  const authorization = token === null || unauthenticated ? {} : { Authorization: `Bearer ${token.value}` }
  return { host, port, agent: false, headers: { ...headers, ...authorization } }
}

// A drafted contract may have 150 levels. JSON.stringify recurses, so deeper bodies could overflow the stack.
const maxDepth = 200

const isShallow = (value: unknown, depthLeft = maxDepth): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depthLeft > 0 && Object.values(value).every((member) => isShallow(member, depthLeft - 1)))
