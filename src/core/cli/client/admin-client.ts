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
  /** The field Accept; by default JSON. */
  readonly accept?: string
  readonly timeoutMs: number
  readonly maxBytes?: number
  /** Accepts any certificate, and sends no token. */
  readonly unauthenticated?: true
}

export interface AdminResponse {
  readonly status: number
  readonly body: unknown
  /** The gateway's own clock, in milliseconds since the epoch. */
  readonly at: number
}

/** Throws {@link CliError} for no response in time, no JSON, an unexpected status, a command to a guessed address. */
export const callAdmin = async (target: AdminTarget, adminRequest: AdminRequest): Promise<AdminResponse> => {
  // Another gateway may listen at a guessed address, and a command there cannot be undone.
  if (adminRequest.method !== 'GET' && target.isDefaultAddress)
    throw cliError(
      `${target.fallbackReason}, so it is not known which gateway is meant: give --config FILE or --admin URL`,
    )
  const { status, date, text } = await callAdminRaw(target, adminRequest)
  const body = parseJson(text)
  // The gateway could not fetch the keys for operators' tokens, so it did not read the command.
  if (!expectedStatuses.has(status) || getMember(body, 'code') === 'identity-unavailable')
    throw (await import('./admin-errors.ts')).rejectedError(target, adminRequest.path, status, body)
  if (body === undefined) throw otherProgram(target, 'JSON', status)
  if (!isShallow(body))
    throw cliError(`${targetUrl(target)} responds with JSON that is nested too deeply: ${notAdminHint}`)
  const at = Date.parse(date)
  return { status, body, at: Number.isNaN(at) ? epochMs() : at }
}

/** Throws {@link CliError} for any status but 200, too. `decoded`: the checked members, escaped for a terminal. */
export const getDecoded = async <T>(target: AdminTarget, path: string, decoder: Decoder<T>) => {
  const { status, body, at } = await callAdmin(target, { method: 'GET', path, timeoutMs: 5000 })
  if (status !== 200) throw (await import('./admin-errors.ts')).rejectedError(target, path, status, body)
  return { decoded: decodeResponse(target, body, decoder), body, at }
}

/** Fetches a report in the gateway's words, which begin with `start`. Throws {@link CliError} for anything else. */
export const getText = async (target: AdminTarget, path: string, start: string): Promise<string> => {
  const request = { method: 'GET', path, timeoutMs: 5000, accept: 'text/plain, application/json;q=0.5' } as const
  const { status, type, text } = await callAdminRaw(target, request)
  if (status !== 200) throw (await import('./admin-errors.ts')).rejectedError(target, path, status, parseJson(text))
  const isText = /^text\/plain\b/.test(type)
  const body = isText ? null : parseJson(text)
  // Any program may listen there.
  if (body === undefined || (isText && !text.startsWith(start))) throw otherProgram(target, 'a report', status)
  // A gateway of an earlier version has JSON alone.
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
      `${targetUrl(target)} responds with what this version does not understand: ${error.message}; ${remedy}`,
    )
  }
}

/** Sends a request and returns any response. Throws {@link CliError} for no response in time or an unknown port. */
export const callAdminRaw = async (target: AdminTarget, adminRequest: AdminRequest): Promise<RawAdminResponse> => {
  // Node takes port 0 for the default port, and would send the token to port 80 or 443.
  if (target.port === 0) throw (await import('./admin-errors.ts')).chosenPortError(target)
  // Error texts are loaded only for an error: a health check starts a process every few seconds.
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

// A configuration file has at most 1 MiB, and is longer with all defaults.
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
  // No agent: a process sends one request, and keeps no connection open.
  return { host, port, agent: false, headers: { ...headers, ...authorization } }
}

// A drafted contract may have 150 levels. JSON.stringify recurses at each, so deeper bodies could overflow the stack.
const maxDepth = 200

const isShallow = (value: unknown, depthLeft = maxDepth): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depthLeft > 0 && Object.values(value).every((member) => isShallow(member, depthLeft - 1)))
