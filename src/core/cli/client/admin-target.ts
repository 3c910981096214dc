import type { Environment } from '../../config/environment.ts'
import { isBearerToken } from '../../exchange/header-fields.ts'
import { escapeControls } from '../../lib/text/escape-controls.ts'
import { defaultConfigFile, type OutputFormat } from '../options.ts'

/** Why the gateway did not respond, in one line: exit code 2. */
export class CliError extends Error {}

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
  readonly from: string
}

type AdminAddress = Pick<AdminTarget, 'tls' | 'host' | 'port'>

export const targetUrl = ({ tls, host, port }: AdminAddress): string =>
  `${tls ? 'https' : 'http'}://${hostPort(host, port)}`

/** The Host field. A zone of an address means nothing to other machines (RFC 6874 §3). */
export const adminHostHeader = ({ host, port }: AdminAddress): string => hostPort(host.replace(/%.*$/, ''), port)

export const reachableHost = (boundHost: string): string => {
  if (boundHost === '0.0.0.0') return '127.0.0.1'
  return /^[0:]*:(0\.0\.0\.0)?$|^[0:]+:0$/.test(boundHost) ? 'localhost' : boundHost
}

const hostPort = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

export const tokenEnvironmentVariable = 'LENDER_GATEWAY_ADMIN_TOKEN'

const tokenFromEnvironment = (environment: Environment): AdminToken | null => {
  const value = environment[tokenEnvironmentVariable] ?? ''
  if (value === '') return null
  // RFC 6750 §2.1. Other characters may be forbidden in a field value, or split it into two fields.
  if (isBearerToken(value)) return { value, from: tokenEnvironmentVariable }
  throw cliError(
    `${tokenEnvironmentVariable} holds no token: letters, digits and -._~+/ are expected, without blanks or a line end`,
  )
}

export interface ClientCommandOptions {
  readonly config: string
  /** The URL of the admin listener, in place of the file's address. */
  readonly admin?: string | undefined
  readonly format: OutputFormat
}

export type TargetOptions = Omit<ClientCommandOptions, 'format'>

/** Finds the gateway of a command line, and its token. Throws {@link cliError} when it is ambiguous. */
export const locateGateway = async (
  targetOptions: TargetOptions,
  environment: Environment = process.env,
): Promise<AdminTarget> => {
  const environmentToken = tokenFromEnvironment(environment)
  if (targetOptions.admin === undefined) {
    const target = await targetOfNamedFile(targetOptions.config, environment)
    const token = environmentToken ?? target.token
    const isLocal = /^(127\.[\d.]+|::1|localhost)$/.test(target.host)
    // admin.tls may be the broken part: the token would then cross the network unencrypted.
    if (token !== null && target.fallbackReason !== null && !isLocal)
      throw cliError(
        `${target.fallbackReason}; no token is sent to ${targetUrl(target)} before it is mended: or give --admin URL`,
      )
    return { ...target, token }
  }
  const urlTarget = targetFromUrl(targetOptions.admin)
  if (environmentToken !== null) return { ...urlTarget, token: environmentToken }
  // The file's token is only for the listener that the file names.
  const { token, ...fileTarget } = await targetFromFile(targetOptions.config, environment)
  return {
    ...urlTarget,
    token: fileTarget.fallbackReason === null && targetUrl(urlTarget) === targetUrl(fileTarget) ? token : null,
  }
}

/** Finds the gateway for a readiness probe, which takes no token. Throws {@link cliError}. */
export const locateProbeTarget = async (
  { config, admin }: TargetOptions,
  environment: Environment = process.env,
): Promise<AdminTarget> =>
  admin === undefined ? { ...(await targetOfNamedFile(config, environment)), token: null } : targetFromUrl(admin)

/** Throws {@link cliError} for an unreadable `--config`: the default address may be another gateway's. */
const targetOfNamedFile = async (file: string, environment: Environment): Promise<AdminTarget> => {
  const { isUnreadable, ...target } = await targetFromFile(file, environment)
  if (isUnreadable && file !== defaultConfigFile)
    throw cliError(`--config ${target.fallbackReason}; --admin URL asks a gateway without one`)
  return target
}

const targetFromFile = async (file: string, environment: Environment) => {
  const { loadAdmin } = await import('../../config/load/load-admin.ts')
  const { host, port, token, tls, reason, isGuessed, isUnreadable } = loadAdmin(file, environment)
  return {
    isUnreadable,
    tls: tls !== null,
    host: reachableHost(host),
    port,
    certificate: tls?.certificate ?? null,
    token: token === null ? null : { value: token, from: `admin.token in ${file}` },
    file,
    fallbackReason: reason,
    isDefaultAddress: isGuessed,
  }
}

const targetFromUrl = (text: string): AdminTarget => {
  const url = URL.parse(text)
  const isBareUrl = url !== null && url.username === '' && url.password === '' && url.pathname === '/'
  // No listener has port 0.
  if (!isBareUrl || !/^https?:$/.test(url.protocol) || url.port === '0' || url.search !== '' || url.hash !== '')
    // The error does not quote the URL: it may hold a password.
    throw cliError('--admin: a URL of scheme, host and port is expected, such as http://127.0.0.1:9901')
  const tls = url.protocol === 'https:'
  const port = url.port === '' ? (tls ? 443 : 80) : Number(url.port)
  const host = reachableHost(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  return { tls, host, port, certificate: null, token: null, file: null, fallbackReason: null, isDefaultAddress: false }
}
