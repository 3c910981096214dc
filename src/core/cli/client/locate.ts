import type { Environment } from '../../config/environment.ts'
import { defaultConfigFile, type OutputFormat } from '../options.ts'
import {
  type AdminTarget,
  cliError,
  isLocalHost,
  isSameAddress,
  reachableHost,
  targetUrl,
  tokenFromEnvironment,
} from './admin-target.ts'

export interface TargetOptions {
  readonly config: string
  /** The URL of the admin listener, in place of the file's address. */
  readonly admin?: string | undefined
}

export interface ClientCommandOptions extends TargetOptions {
  readonly format: OutputFormat
}

/** Finds the gateway of a command line, and its token. Throws {@link cliError} when it is ambiguous. */
export const locateGateway = async (
  targetOptions: TargetOptions,
  environment: Environment = process.env,
): Promise<AdminTarget> => {
  const environmentToken = tokenFromEnvironment(environment)
  if (targetOptions.admin === undefined) {
    const target = await targetOfNamedFile(targetOptions.config, environment)
    const token = environmentToken ?? target.token
    if (token !== null && target.fallbackReason !== null && !isLocalHost(target.host)) {
      // admin.tls may be the broken part: the token would then cross the network unencrypted.
      throw cliError(
        `${target.fallbackReason}; no token is sent to ${targetUrl(target)} before it is mended: or give --admin URL`,
      )
    }
    return { ...target, token }
  }
  const urlTarget = targetFromUrl(targetOptions.admin)
  if (environmentToken !== null) return { ...urlTarget, token: environmentToken }
  // The file's token is only for the listener that the file names.
  const { token, ...fileTarget } = await targetFromFile(targetOptions.config, environment)
  return {
    ...urlTarget,
    token: fileTarget.fallbackReason === null && isSameAddress(urlTarget, fileTarget) ? token : null,
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

const targetFromFile = async (
  file: string,
  environment: Environment,
): Promise<AdminTarget & { readonly isUnreadable: boolean }> => {
  const { loadAdmin } = await import('../../config/load/load-admin.ts')
  const { admin, reason, isGuessed, isUnreadable } = loadAdmin(file, environment)
  return {
    isUnreadable,
    tls: admin.tls !== null,
    host: reachableHost(admin.host),
    port: admin.port,
    certificate: admin.tls?.certificate ?? null,
    token: admin.token === null ? null : { value: admin.token, from: `admin.token in ${file}` },
    file,
    fallbackReason: reason,
    isDefaultAddress: isGuessed,
  }
}

const targetFromUrl = (text: string): AdminTarget => {
  const url = URL.parse(text)
  const isBareUrl = url !== null && url.username === '' && url.password === '' && url.pathname === '/'
  // No listener has port 0.
  if (!isBareUrl || !/^https?:$/.test(url.protocol) || url.port === '0' || url.search !== '' || url.hash !== '') {
    // The error does not quote the URL: it may hold a password.
    throw cliError('--admin: a URL of scheme, host and port is expected, such as http://127.0.0.1:9901')
  }
  const tls = url.protocol === 'https:'
  const port = url.port === '' ? (tls ? 443 : 80) : Number(url.port)
  const host = reachableHost(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  return { tls, host, port, certificate: null, token: null, file: null, fallbackReason: null, isDefaultAddress: false }
}
