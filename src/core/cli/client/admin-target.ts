import type { Environment } from '../../config/environment.ts'
import { isBearerToken } from '../../exchange/header-fields.ts'
import { escapeControls } from '../../lib/text/escape-controls.ts'

/** Why a gateway could not be asked, or did not respond as one, in one line: exit code 2. */
export class CliError extends Error {}

/** Makes a {@link CliError}; control characters are escaped. */
export const cliError = (message: string): CliError => new CliError(escapeControls(message))

export interface AdminTarget {
  readonly tls: boolean
  /** An address or a name, without brackets. */
  readonly host: string
  readonly port: number
  /** The certificate that it must show, in PEM; null: any that the system trusts. */
  readonly certificate: string | null
  readonly token: AdminToken | null
  /** The file that names its address; null: the command line does. */
  readonly file: string | null
  /** Why built-in values stand for some of it; null: the file was read. */
  readonly fallbackReason: string | null
  /** Whether its address is built in: neither the file nor the command line names one. */
  readonly isDefaultAddress: boolean
}

/** The token of an operator. It is sent, and never printed. */
interface AdminToken {
  readonly value: string
  /** Its source: `LENDER_GATEWAY_ADMIN_TOKEN`. */
  readonly from: string
}

type AdminAddress = Pick<AdminTarget, 'tls' | 'host' | 'port'>

/** Makes the URL of a target: `http://[::1]:9901`. */
export const targetUrl = ({ tls, host, port }: AdminAddress): string =>
  `${tls ? 'https' : 'http'}://${hostPort(host, port)}`

/** Makes the Host field for an address. The zone of an address means nothing to other machines (RFC 6874 §3). */
export const adminHostHeader = ({ host, port }: AdminAddress): string => hostPort(host.replace(/%.*$/, ''), port)

export const isSameAddress = (a: AdminAddress, b: AdminAddress): boolean => targetUrl(a) === targetUrl(b)

/** Finds an address that leads to a listener: loopback for one that is bound to every address. */
export const reachableHost = (boundHost: string): string => {
  if (boundHost === '0.0.0.0') return '127.0.0.1'
  return /^[0:]*:(0\.0\.0\.0)?$|^[0:]+:0$/.test(boundHost) ? 'localhost' : boundHost
}

/** Tells whether a host is this machine: no attacker can listen on the way. */
export const isLocalHost = (host: string): boolean => /^(127\.[\d.]+|::1|localhost)$/.test(host)

const hostPort = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

export const tokenEnvironmentVariable = 'LENDER_GATEWAY_ADMIN_TOKEN'

/** Takes the token from the environment; an empty variable is none. Throws {@link cliError} for a malformed one. */
export const tokenFromEnvironment = (environment: Environment): AdminToken | null => {
  const value = environment[tokenEnvironmentVariable] ?? ''
  if (value === '') return null
  // RFC 6750 §2.1. Other characters may not be allowed in a field value, or may make two fields of it.
  if (isBearerToken(value)) return { value, from: tokenEnvironmentVariable }
  throw cliError(
    `${tokenEnvironmentVariable} holds no token: letters, digits and -._~+/ are expected, without blanks or a line end`,
  )
}
