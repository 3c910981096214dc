import type { Attributes } from '@opentelemetry/api'
import type { AttemptRecord } from '../../core/exchange/exchange.ts'
import type { GatewayError } from '../../core/exchange/failures/errors.ts'
import type { ExchangeFacts, ExchangeRecord } from '../../core/log/exchange-record.ts'
import type { Operation } from '../../operations.ts'
import { sdk } from './sdk.ts'

/** The address at which clients find the gateway, as far as its configuration says. */
export interface ServerAddress {
  readonly scheme: 'http' | 'https'
  /** Null: it listens on all addresses, and the configuration names none. */
  readonly address: string | null
  /** 0: any. */
  readonly port: number
}

/**
 * Describes an exchange by the semantic conventions of HTTP, and by the gateway's own words. An allow-list: the path is
 * the catalog's, and nothing is here that a client has chosen. So no query, no field, no Host, no request id, and not
 * its address either.
 */
export const exchangeAttributes = (
  { id, group, method, path }: Operation,
  server: ServerAddress,
  { status, failure, bytesIn, bytesOut, configHash }: ExchangeRecord,
  { outcome, attempts, side }: ExchangeFacts,
): Attributes => {
  const { conventions: c } = sdk()
  return {
    [c.ATTR_HTTP_REQUEST_METHOD]: method,
    [c.ATTR_HTTP_ROUTE]: path,
    [c.ATTR_URL_PATH]: path,
    [c.ATTR_URL_SCHEME]: server.scheme,
    ...(server.address === null ? {} : { [c.ATTR_SERVER_ADDRESS]: server.address }),
    ...(server.port === 0 ? {} : { [c.ATTR_SERVER_PORT]: server.port }),
    // A client that has gone was sent none.
    ...(failure?.kind === 'client-gone' ? {} : { [c.ATTR_HTTP_RESPONSE_STATUS_CODE]: status }),
    ...errorType(failure, status, 500),
    'http.request.body.size': bytesIn,
    'http.response.body.size': bytesOut,
    'lender_gateway.operation': id,
    'lender_gateway.group': group,
    'lender_gateway.attempts': attempts.count,
    'lender_gateway.config_hash': configHash,
    ...(outcome === null ? {} : { [`lender_gateway.${outcome.source}`]: outcome.outcome }),
    ...(side === null ? {} : { 'lender_gateway.side': side, 'lender_gateway.fell_back': attempts.fellBack }),
    ...reasonAttribute(failure),
  }
}

/** Describes an attempt. `endpoint` is as the configuration names it; the target is given without its query. */
export const attemptAttributes = (
  { method, path, group }: Operation,
  { endpoint, side }: Pick<AttemptRecord, 'endpoint' | 'side'>,
  resends: number,
  status: number | null,
  failure: GatewayError | null,
): Attributes => {
  const { conventions: c } = sdk()
  return {
    [c.ATTR_HTTP_REQUEST_METHOD]: method,
    ...serverAttributes(endpoint, path),
    ...(status === null ? {} : { [c.ATTR_HTTP_RESPONSE_STATUS_CODE]: status }),
    ...(resends === 0 ? {} : { [c.ATTR_HTTP_REQUEST_RESEND_COUNT]: resends }),
    ...errorType(failure, status ?? 0, 400),
    'lender_gateway.group': group,
    'lender_gateway.endpoint': endpoint,
    ...(side === null ? {} : { 'lender_gateway.side': side }),
    ...reasonAttribute(failure),
  }
}

/** Checks whether a span is an error. On the server's side, what the client did wrong is none. */
export const isErrorSpan = (failure: GatewayError | null, status: number, from: 400 | 500): boolean =>
  failure === null ? status >= from : failure.fault !== 'client'

const errorType = (failure: GatewayError | null, status: number, from: 400 | 500): Attributes => {
  const type = failure?.kind ?? (status >= from ? String(status) : null)
  return type === null ? {} : { [sdk().conventions.ATTR_ERROR_TYPE]: type }
}

const reasonAttribute = (failure: GatewayError | null): Attributes =>
  failure === null || failure.reason === null ? {} : { 'lender_gateway.reason': failure.reason }

const serverAttributes = (endpoint: string, path: string): Attributes => {
  const { conventions: c } = sdk()
  const url = URL.parse(endpoint)
  if (url === null) return { [c.ATTR_SERVER_ADDRESS]: endpoint } // the sandbox
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const address = url.hostname.replace(/^\[|\]$/g, '')
  return { [c.ATTR_SERVER_ADDRESS]: address, [c.ATTR_SERVER_PORT]: port, [c.ATTR_URL_FULL]: endpoint + path }
}
