import { existsSync } from 'node:fs'
import type { Environment } from '../../config/environment.ts'
import { defaultFile, type Format } from '../options.ts'
import { isLoopback, isSame, reachableHost, type Target, tokenFrom, unasked, urlOf } from './target.ts'

/** Is what a command line says of the gateway that is meant. */
export interface Where {
  /** The configuration file that names its admin listener. */
  readonly config: string
  /** The listener's URL, in place of the file's word. */
  readonly admin?: string | undefined
}

/** What every command that talks to a gateway is given. */
export interface AskOptions extends Where {
  readonly format: Format
}

/** Finds the gateway that a command line means, with the token for it. Throws {@link unasked} when there is no telling. */
export const findGateway = async (where: Where, environment: Environment = process.env): Promise<Target> => {
  const own = tokenFrom(environment)
  if (where.admin === undefined) {
    // A gateway that answers at the built-in address is another one than the one that was meant.
    if (where.config !== defaultFile && !existsSync(where.config))
      throw unasked(`--config ${where.config}: there is no such file; --admin URL asks a gateway without one`)
    const target = await inFile(where.config, environment)
    const token = own ?? target.token
    if (token !== null && target.doubt !== null && !isLoopback(target.host)) {
      // What is broken may be admin.tls: the token would then cross the network for everybody to read.
      throw unasked(`${target.doubt}; no token is sent to ${urlOf(target)} before it is mended: or give --admin URL`)
    }
    return { ...target, token }
  }
  const asked = parseUrl(where.admin)
  if (own !== null) return { ...asked, token: own }
  // The file's token is meant for the listener that the file names, and for no other.
  const { token, ...known } = await inFile(where.config, environment)
  return { ...asked, token: known.doubt === null && isSame(asked, known) ? token : null }
}

/** Finds where to ask whether a gateway is ready. That takes no token, so none is looked for. */
export const findProbe = async ({ config, admin }: Where, environment: Environment = process.env): Promise<Target> =>
  admin === undefined ? { ...(await inFile(config, environment)), token: null } : parseUrl(admin)

const inFile = async (file: string, environment: Environment): Promise<Target> => {
  const { loadAdmin } = await import('../../config/load-admin.ts')
  const { admin, reason, isGuessed } = loadAdmin(file, environment)
  return {
    tls: admin.tls !== null,
    host: reachableHost(admin.host),
    port: admin.port,
    certificate: admin.tls?.certificate ?? null,
    token: admin.token === null ? null : { value: admin.token, from: `admin.token in ${file}` },
    file,
    doubt: reason,
    isGuessed,
  }
}

const parseUrl = (text: string): Target => {
  const url = URL.parse(text)
  const plain = url !== null && url.username === '' && url.password === '' && url.pathname === '/'
  if (!plain || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    // Not what was given: it may hold a password.
    throw unasked('--admin: a URL of scheme, host and port is expected, such as http://127.0.0.1:9901')
  }
  const tls = url.protocol === 'https:'
  const port = url.port === '' ? (tls ? 443 : 80) : Number(url.port)
  const host = reachableHost(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  return { tls, host, port, certificate: null, token: null, file: null, doubt: null, isGuessed: false }
}
