import type { Environment } from '../../config/environment.ts'
import { isBearerToken } from '../../exchange/header-fields.ts'
import { escapeControls } from '../../lib/text/escape-controls.ts'
import { defaultConfigFile, type OutputFormat } from '../options.ts'

/** Why the gateway did not respond, in one line. The exit code is 2. */
export class CliError extends Error {}

export const cliError = (message: string): CliError => new CliError(escapeControls(message))

export interface AdminTarget {
  readonly tls: boolean
  /** An address or a name, without brackets. */
  readonly host: string
  readonly port: number
  /** The only accepted certificate, in PEM; null: any that the system trusts. */
  readonly certificate: string | null
  readonly token: AdminToken | null
  /** Null: the command line names the address. */
  readonly file: string | null
  /** Why defaults replace values of the file; null: the file was read. */
  readonly fallbackReason: string | null
  readonly isDefaultAddress: boolean
}

interface AdminToken {
  readonly value: string
  readonly from: string
}

type AdminAddress = Pick<AdminTarget, 'tls' | 'host' | 'port'>

export const targetUrl = ({ tls, host, port }: AdminAddress): string =>
  `${tls ? 'https' : 'http'}://${hostPort(host, port)}`

/** RFC 6874 §3: the zone of an address means nothing to other machines, so Host leaves it out. */
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
  // RFC 6750 §2.1: other characters may split a field value into two fields.
  if (isBearerToken(value)) return { value, from: tokenEnvironmentVariable }
  throw cliError(
    `${tokenEnvironmentVariable} holds no token: letters, digits and -._~+/ are expected, without blanks or a line end`,
  )
}

export interface ClientCommandOptions {
  readonly config: string
  /** Replaces the file's address. */
  readonly admin?: string | undefined
  readonly format: OutputFormat
}

export type TargetOptions = Omit<ClientCommandOptions, 'format'>

/** Throws {@link cliError} if the gateway or its token is ambiguous. */
export const locateGateway = async (
  targetOptions: TargetOptions,
  environment: Environment = process.env,
): Promise<AdminTarget> => {
  const environmentToken = tokenFromEnvironment(environment)
  if (targetOptions.admin === undefined) {
    const target = await targetOfNamedFile(targetOptions.config, environment)
    const token = environmentToken ?? target.token
    const isLocal = /^(127\.[\d.]+|::1|localhost)$/.test(target.host)
    // If admin.tls is the broken part, the token would cross the network unencrypted.
    if (token !== null && target.fallbackReason !== null && !isLocal)
      throw cliError(
        `${target.fallbackReason}; no token is sent to ${targetUrl(target)} before it is mended: or give --admin URL`,
      )
    return { ...target, token }
  }
  const urlTarget = targetFromUrl(targetOptions.admin)
  if (environmentToken !== null) return { ...urlTarget, token: environmentToken }
  const { token, ...fileTarget } = await targetFromFile(targetOptions.config, environment)
  return {
    ...urlTarget,
    token: fileTarget.fallbackReason === null && targetUrl(urlTarget) === targetUrl(fileTarget) ? token : null,
  }
}

/** For a readiness probe, which sends no token. Throws {@link cliError}. */
export const locateProbeTarget = async (
  { config, admin }: TargetOptions,
  environment: Environment = process.env,
): Promise<AdminTarget> =>
  admin === undefined ? { ...(await targetOfNamedFile(config, environment)), token: null } : targetFromUrl(admin)

/** Throws {@link cliError} if `--config` cannot be read: another gateway may listen at the default address. */
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
  if (!isBareUrl || !/^https?:$/.test(url.protocol) || url.port === '0' || url.search !== '' || url.hash !== '')
    // Not quoted: the URL may hold a password.
    throw cliError('--admin: a URL of scheme, host and port is expected, such as http://127.0.0.1:9901')
  const tls = url.protocol === 'https:'
  const port = url.port === '' ? (tls ? 443 : 80) : Number(url.port)
  const host = reachableHost(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  return { tls, host, port, certificate: null, token: null, file: null, fallbackReason: null, isDefaultAddress: false }
}
