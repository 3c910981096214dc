import type { Environment } from '../../config/environment.ts'
import { escapeControls } from '../../shared/escape-controls.ts'

/** Says, in one line, why a gateway could not be asked or did not answer as one: exit code 2. */
export class CliError extends Error {}

/** Makes an error that says why a gateway could not be asked. */
export const cliError = (message: string): CliError => new CliError(escapeControls(message))

/** Is an admin listener, with what it takes to ask it. */
export interface AdminTarget {
  readonly tls: boolean
  /** An address or a name, without brackets. */
  readonly host: string
  readonly port: number
  /** The certificate that it must show, as PEM; null: any that the system trusts. */
  readonly certificate: string | null
  readonly token: AdminToken | null
  /** The file that says where it is; null: the command line does. */
  readonly file: string | null
  /** Why the file does not say all of it; null: it does. */
  readonly fallbackReason: string | null
  /** Whether neither the file nor the command line says where it is. */
  readonly isDefaultAddress: boolean
}

/** Is what an operator is known by. It is sent, and never printed. */
export interface AdminToken {
  readonly value: string
  /** Says where it was found: `LENDER_GATEWAY_ADMIN_TOKEN`. */
  readonly from: string
}

type AdminAddress = Pick<AdminTarget, 'tls' | 'host' | 'port'>

/** Writes where a target is as a URL: `http://[::1]:9901`. */
export const targetUrl = ({ tls, host, port }: AdminAddress): string =>
  `${tls ? 'https' : 'http'}://${hostPort(host, port)}`

/** Writes the Host that goes with an address. The zone of an address means nothing to others (RFC 6874 §3). */
export const adminHostHeader = ({ host, port }: AdminAddress): string => hostPort(host.replace(/%.*$/, ''), port)

/** Tells whether two addresses are one listener's. */
export const isSameAddress = (a: AdminAddress, b: AdminAddress): boolean => targetUrl(a) === targetUrl(b)

/** Finds the address that leads to a listener: one that is bound to every address is asked by loopback. */
export const reachableHost = (boundHost: string): string => {
  if (boundHost === '0.0.0.0') return '127.0.0.1'
  return /^[0:]*:(0\.0\.0\.0)?$|^[0:]+:0$/.test(boundHost) ? 'localhost' : boundHost
}

/** Tells whether a host is this machine, so that nobody listens on the way. */
export const isLocalHost = (host: string): boolean => /^(127\.[\d.]+|::1|localhost)$/.test(host)

const hostPort = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Names the variable that holds the token. */
export const tokenEnvironmentVariable = 'LENDER_GATEWAY_ADMIN_TOKEN'

/** Takes the token from the environment; an empty variable is none. */
export const tokenFromEnvironment = (environment: Environment): AdminToken | null => {
  const value = environment[tokenEnvironmentVariable] ?? ''
  if (value === '') return null
  // RFC 6750 §2.1. Anything else could not be sent as a field value, or could be sent as two.
  if (/^[A-Za-z0-9._~+/-]+=*$/.test(value)) return { value, from: tokenEnvironmentVariable }
  throw cliError(
    `${tokenEnvironmentVariable} holds no token: letters, digits and -._~+/ are expected, without blanks or a line end`,
  )
}
