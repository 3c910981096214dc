import { X509Certificate } from 'node:crypto'
import type { RequestOptions } from 'node:https'
import { getMember } from '../../shared/decode.ts'
import { type AdminTarget, type CliError, cliError, targetUrl, tokenEnvironmentVariable } from './admin-target.ts'

/** Says why a gateway was not reached, where its address was found, and how to ask another. */
export const unreachableError = (target: AdminTarget, error: NodeJS.ErrnoException): CliError => {
  const { file, port, fallbackReason } = target
  if (port === 0) return cliError(`admin.port in ${file} is 0, so the system chose one: give --admin URL; ${logHint}`)
  const foundIn = file === null || fallbackReason !== null ? '' : `, where admin in ${file} has it`
  const fallbackNote = fallbackReason === null ? '' : ` (${fallbackReason})`
  const code = error.code ?? ''
  if (isCertificateError(code) && target.certificate !== null && code !== 'CERT_HAS_EXPIRED')
    return cliError(`${targetUrl(target)} ${certificateMismatch(target)}`)
  return cliError(
    `${describeFailure(target, code, error.message)}${foundIn}${fallbackNote}: ${suggestRemedy(target, code)}`,
  )
}

const logHint = 'its log says where, in the line "admin listening"'

const describeFailure = (target: AdminTarget, code: string, message: string): string => {
  const url = targetUrl(target)
  if (code === 'ECONNREFUSED') return `nothing listens at ${url}`
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `${target.host} has no address`
  if (code === 'ECONNRESET' || code === 'EPIPE') return `${url} closes the connection without a whole answer`
  if (code.startsWith('HPE_')) return `${url} answers with something other than HTTP`
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) return `${url} does not speak TLS (${code})`
  if (isCertificateError(code)) return `${url} shows a certificate that is not trusted (${code})`
  return `${url} cannot be reached (${code === '' ? message : code})`
}

const suggestRemedy = ({ tls, file }: AdminTarget, code: string): string => {
  if (code === 'CERT_HAS_EXPIRED') return 'renew it'
  if (isCertificateError(code)) return 'NODE_EXTRA_CA_CERTS names a file of further authorities'
  if (code === 'ECONNREFUSED') return `is the gateway running? ${otherTargetHint(file)}; ${logHint}`
  if (code === 'ECONNRESET' && !tls) return `does it want https? ${otherTargetHint(file)}`
  return `${otherTargetHint(file)}; ${logHint}`
}

const otherTargetHint = (file: string | null): string =>
  file === null ? '--admin URL asks another one' : '--config FILE or --admin URL asks another one'

/** Lists what OpenSSL and Node call a certificate that does not do. */
const isCertificateError = (code: string): boolean =>
  !code.startsWith('ERR_SSL') && /CERT|SIGNATURE|ISSUER|CRL|CHAIN/.test(code)

/** Says that the certificate is not the one in the file, and how to get on. */
const certificateMismatch = ({ file }: Pick<AdminTarget, 'file'>): string =>
  `shows another certificate than admin.tls.certificate in ${file}: a gateway that has not taken a renewal yet shows the older one, and takes it on SIGHUP; --admin https://NAME:PORT asks by the system's trust, and NODE_EXTRA_CA_CERTS adds to that`

/** Says what to do about an answer that lets nobody in. */
export const rejectedError = (target: AdminTarget, path: string, status: number, body: unknown): CliError => {
  const url = targetUrl(target)
  const { token } = target
  if (status === 401) {
    if (token === null) return cliError(`${url} wants a token: set ${tokenEnvironmentVariable}${orFileHint(target)}`)
    const other = token.from.startsWith('admin.token')
      ? `: it may run with an older one; set ${tokenEnvironmentVariable}`
      : ''
    return cliError(`${url} refuses the token of ${token.from}${other}`)
  }
  const detailText = problemDetail(body)
  if (status === 421) return cliError(`${url} does not answer to that name (421)${detailText}`)
  if (status === 404)
    return cliError(`${url} has no ${path} (404): is that the admin listener, and not the public one?`)
  if (status >= 300 && status < 400) return cliError(`${url} sends elsewhere (${status}), and is not followed`)
  return cliError(`${url} ${status < 500 ? 'refuses' : 'fails at'} ${path} (${status})${detailText}`)
}

const orFileHint = ({ file }: AdminTarget): string => (file === null ? '' : `, or admin.token in ${file}`)

/** Quotes what a problem (RFC 9457) says of itself. */
const problemDetail = (body: unknown): string => {
  const detailText = getMember(body, 'detail')
  return typeof detailText === 'string' ? `: ${detailText.slice(0, 300)}` : ''
}

/**
 * Trusts one certificate and no other. Whoever can read it in the configuration file needs no authority to vouch for it, and no name in
 * it. Nothing is sent, the token least of all, before it has been shown.
 */
export const pinCertificate = (target: AdminTarget, certificate: string): RequestOptions => {
  const expectedFingerprint = fingerprint(certificate)
  if (expectedFingerprint === null)
    throw cliError(`admin.tls.certificate in ${target.file} is no certificate; see: check ${target.file}`)
  return {
    ca: certificate,
    // It need not be an authority, nor signed by one that is in the file.
    allowPartialTrustChain: true,
    checkServerIdentity: (_, peerCertificate) =>
      peerCertificate.fingerprint256 === expectedFingerprint
        ? undefined
        : cliError(`${targetUrl(target)} ${certificateMismatch(target)}`),
  }
}

const fingerprint = (certificate: string): string | null => {
  try {
    return new X509Certificate(certificate).fingerprint256
  } catch {
    return null
  }
}
