import type { Environment } from '../../config/environment.ts'
import { isBearerToken } from '../../exchange/header-fields.ts'
import { escapeControls } from '../../lib/text/escape-controls.ts'

/** Why the gateway did not respond, in one line: exit code 2. */
export class CliError extends Error {}

/** Creates a {@link CliError} with escaped control characters. */
export const cliError = (message: string): CliError => new CliError(escapeControls(message))

export interface AdminTarget {
  readonly tls: boolean
  /** An address or a name, without brackets. */
  readonly host: string
  readonly port: number
  /** The only certificate to accept, in PEM; null: any that the system trusts. */
  readonly certificate: string | null
  readonly token: AdminToken | null
  /** The file that names the address; null: the command line does. */
  readonly file: string | null
  /** Why defaults replace some values of the file; null: the file was read. */
  readonly fallbackReason: string | null
  /** Whether neither the file nor the command line names the address. */
  readonly isDefaultAddress: boolean
}

/** Sent, and never printed. */
interface AdminToken {
  readonly value: string
  /** Its source: `LENDER_GATEWAY_ADMIN_TOKEN`. */
  readonly from: string
}

type AdminAddress = Pick<AdminTarget, 'tls' | 'host' | 'port'>

/** Formats a URL: `http://[::1]:9901`. */
export const targetUrl = ({ tls, host, port }: AdminAddress): string =>
  `${tls ? 'https' : 'http'}://${hostPort(host, port)}`

/** Formats the Host field. A zone of an address means nothing to other machines (RFC 6874 §3). */
export const adminHostHeader = ({ host, port }: AdminAddress): string => hostPort(host.replace(/%.*$/, ''), port)

export const isSameAddress = (a: AdminAddress, b: AdminAddress): boolean => targetUrl(a) === targetUrl(b)

/** Finds an address that reaches a listener: loopback for a wildcard address. */
export const reachableHost = (boundHost: string): string => {
  if (boundHost === '0.0.0.0') return '127.0.0.1'
  return /^[0:]*:(0\.0\.0\.0)?$|^[0:]+:0$/.test(boundHost) ? 'localhost' : boundHost
}

/** Tells whether a host is this machine, where no attacker is on the path. */
export const isLocalHost = (host: string): boolean => /^(127\.[\d.]+|::1|localhost)$/.test(host)

const hostPort = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

export const tokenEnvironmentVariable = 'LENDER_GATEWAY_ADMIN_TOKEN'

/**
 * Reads the token from the environment; an empty variable counts as unset. Throws {@link cliError} for a malformed
 * token.
 */
export const tokenFromEnvironment = (environment: Environment): AdminToken | null => {
  const value = environment[tokenEnvironmentVariable] ?? ''
  if (value === '') return null
  // RFC 6750 §2.1. Other characters may be forbidden in a field value, or split it into two fields.
  if (isBearerToken(value)) return { value, from: tokenEnvironmentVariable }
  throw cliError(
    `${tokenEnvironmentVariable} holds no token: letters, digits and -._~+/ are expected, without blanks or a line end`,
  )
}
