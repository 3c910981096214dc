import { X509Certificate } from 'node:crypto'
import type { RequestOptions } from 'node:https'
import { memberOf } from '../../shared/shape.ts'
import { type Target, tokenVariable, type Unasked, unasked, urlOf } from './target.ts'

/** Says why a gateway was not reached, where its address was found, and how to ask another. */
export const unreached = (target: Target, error: NodeJS.ErrnoException): Unasked => {
  const { file, port, doubt } = target
  if (port === 0) return unasked(`admin.port in ${file} is 0, so the system chose one: give --admin URL; ${find}`)
  const found = file === null || doubt !== null ? '' : `, where admin in ${file} has it`
  const doubted = doubt === null ? '' : ` (${doubt})`
  const code = error.code ?? ''
  if (isDistrust(code) && target.certificate !== null && code !== 'CERT_HAS_EXPIRED')
    return unasked(`${urlOf(target)} ${otherCertificate(target)}`)
  return unasked(`${what(target, code, error.message)}${found}${doubted}: ${remedy(target, code)}`)
}

const find = 'its log says where, in the line "admin listening"'

const what = (target: Target, code: string, message: string): string => {
  const url = urlOf(target)
  if (code === 'ECONNREFUSED') return `nothing listens at ${url}`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `${target.host} has no address`
  if (code === 'ECONNRESET' || code === 'EPIPE') return `${url} closes the connection without a whole answer`
  if (code.startsWith('HPE_')) return `${url} answers with something other than HTTP`
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) return `${url} does not speak TLS (${code})`
  if (isDistrust(code)) return `${url} shows a certificate that is not trusted (${code})`
  return `${url} cannot be reached (${code === '' ? message : code})`
}

const remedy = ({ tls, file }: Target, code: string): string => {
  if (code === 'CERT_HAS_EXPIRED') return 'renew it'
  if (isDistrust(code)) return 'NODE_EXTRA_CA_CERTS names a file of further authorities'
  if (code === 'ECONNREFUSED') return `is the gateway running? ${elsewhere(file)}; ${find}`
  if (code === 'ECONNRESET' && !tls) return `does it want https? ${elsewhere(file)}`
  return `${elsewhere(file)}; ${find}`
}

const elsewhere = (file: string | null): string =>
  file === null ? '--admin URL asks another one' : '--config FILE or --admin URL asks another one'

/** Lists what OpenSSL and Node call a certificate that does not do. */
const isDistrust = (code: string): boolean =>
  !code.startsWith('ERR_SSL') && /CERT|SIGNATURE|ISSUER|CRL|CHAIN/.test(code)

/** Says that the certificate is not the one in the file, and how to get on. */
const otherCertificate = ({ file }: Pick<Target, 'file'>): string =>
  `shows another certificate than admin.tls.certificate in ${file}: a gateway that has not taken a renewal yet shows the older one, and takes it on SIGHUP; --admin https://NAME:PORT asks by the system's trust, and NODE_EXTRA_CA_CERTS adds to that`

/** Says what to do about an answer that lets nobody in. */
export const refusal = (target: Target, path: string, status: number, body: unknown): Unasked => {
  const url = urlOf(target)
  const { token } = target
  if (status === 401) {
    if (token === null) return unasked(`${url} wants a token: set ${tokenVariable}${orFile(target)}`)
    const other = token.from.startsWith('admin.token') ? `: it may run with an older one; set ${tokenVariable}` : ''
    return unasked(`${url} refuses the token of ${token.from}${other}`)
  }
  const said = detail(body)
  if (status === 421) return unasked(`${url} does not answer to that name (421)${said}`)
  if (status === 404) return unasked(`${url} has no ${path} (404): is that the admin listener, and not the public one?`)
  if (status >= 300 && status < 400) return unasked(`${url} sends elsewhere (${status}), and is not followed`)
  return unasked(`${url} ${status < 500 ? 'refuses' : 'fails at'} ${path} (${status})${said}`)
}

const orFile = ({ file }: Target): string => (file === null ? '' : `, or admin.token in ${file}`)

/** Quotes what a problem (RFC 9457) says of itself. */
const detail = (body: unknown): string => {
  const said = memberOf(body, 'detail')
  return typeof said === 'string' ? `: ${said.slice(0, 300)}` : ''
}

/**
 * Trusts one certificate and no other. Whoever can read it in the configuration file needs no authority to vouch for it, and no name in
 * it. Nothing is sent, the token least of all, before it has been shown.
 */
export const pinned = (target: Target, certificate: string): RequestOptions => {
  const wanted = fingerprint(certificate)
  if (wanted === null)
    throw unasked(`admin.tls.certificate in ${target.file} is no certificate; see: check ${target.file}`)
  return {
    ca: certificate,
    // It need not be an authority, nor signed by one that is in the file.
    allowPartialTrustChain: true,
    checkServerIdentity: (_, shown) =>
      shown.fingerprint256 === wanted ? undefined : unasked(`${urlOf(target)} ${otherCertificate(target)}`),
  }
}

const fingerprint = (certificate: string): string | null => {
  try {
    return new X509Certificate(certificate).fingerprint256
  } catch {
    return null
  }
}
