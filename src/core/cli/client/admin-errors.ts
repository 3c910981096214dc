import { X509Certificate } from 'node:crypto'
import type { RequestOptions } from 'node:https'
import { verifiedTls } from '../../lib/net/tls.ts'
import { getMember } from '../../lib/text/decode.ts'
import { tryOrNull } from '../../lib/try.ts'
import { type AdminTarget, type CliError, cliError, targetUrl, tokenEnvironmentVariable } from './admin-target.ts'

/** Only the gateway's log names a port that the system chose. */
export const chosenPortError = ({ file }: AdminTarget): CliError =>
  cliError(`admin.port in ${file} is 0, so the system chose one: give --admin URL; ${logHint}`)

export const unreachableError = (target: AdminTarget, error: NodeJS.ErrnoException): CliError => {
  const { file, fallbackReason } = target
  const foundIn = file === null || fallbackReason !== null ? '' : `, where admin in ${file} has it`
  const fallbackNote = fallbackReason === null ? '' : ` (${fallbackReason})`
  const code = error.code ?? ''
  if (isCertificateError(code) && target.certificate !== null && code !== 'CERT_HAS_EXPIRED')
    return cliError(`${targetUrl(target)} ${certificateMismatch(target)}`)
  const [failure, remedy] = describeFailure(target, code, error.message)
  return cliError(`${failure}${foundIn}${fallbackNote}: ${remedy}`)
}

const logHint = 'the log of the gateway has the port, in the line "admin listening"'

const describeFailure = (target: AdminTarget, code: string, message: string): readonly [string, remedy: string] => {
  const url = targetUrl(target)
  const otherTarget = `${target.file === null ? '' : '--config FILE or '}--admin URL asks another one`
  const elsewhere = `${otherTarget}; ${logHint}`
  if (code === 'ECONNREFUSED') return [`nothing listens at ${url}`, `is the gateway running? ${elsewhere}`]
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return [`${target.host} has no address`, elsewhere]
  if (code === 'ECONNRESET' || code === 'EPIPE') {
    const mayWantTls = code === 'ECONNRESET' && !target.tls
    const remedy = mayWantTls ? `does it want https? ${otherTarget}` : elsewhere
    return [`${url} closes the connection without a whole response`, remedy]
  }
  if (code.startsWith('HPE_')) return [`${url} responds with something other than HTTP`, elsewhere]
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) return [`${url} does not speak TLS (${code})`, elsewhere]
  if (code.startsWith('ERR_TLS_CERT_ALTNAME')) {
    const remedy = '--admin https://NAME:PORT asks by a name that the certificate has'
    return [`${url} shows a certificate for another name than ${target.host}`, remedy]
  }
  if (!isCertificateError(code)) return [`${url} cannot be reached (${code === '' ? message : code})`, elsewhere]
  const remedy = code === 'CERT_HAS_EXPIRED' ? 'renew it' : 'NODE_EXTRA_CA_CERTS names a file of further authorities'
  return [`${url} shows a certificate that is not trusted (${code})`, remedy]
}

const isCertificateError = (code: string): boolean =>
  !code.startsWith('ERR_SSL') && /CERT|SIGNATURE|ISSUER|CRL|CHAIN/.test(code)

const certificateMismatch = ({ file }: Pick<AdminTarget, 'file'>): string =>
  `shows another certificate than admin.tls.certificate in ${file}: a gateway that has not taken a renewal yet shows the older one, and takes it on SIGHUP; --admin https://NAME:PORT asks by the system's trust, and NODE_EXTRA_CA_CERTS adds to that`

export const rejectedError = (target: AdminTarget, path: string, status: number, body: unknown): CliError => {
  const url = targetUrl(target)
  const { token, file } = target
  if (getMember(body, 'code') === 'certificate-required')
    return cliError(
      `${url} asks for a client certificate, and this command has none: ask with curl --cert and --key, or give the operator a token in admin.tokens`,
    )
  if (status === 401) {
    const orInFile = file === null ? '' : `, or admin.token in ${file}`
    if (token === null) return cliError(`${url} wants a token: set ${tokenEnvironmentVariable}${orInFile}`)
    const isFromFile = token.from.startsWith('admin.token')
    const hint = isFromFile
      ? `: it may run with an older one; set ${tokenEnvironmentVariable}`
      : ': the token is unknown or was removed; its log says why, in the line "operator token rejected"'
    return cliError(`${url} rejects the token of ${token.from}${hint}`)
  }
  const detail = getMember(body, 'detail')
  const detailText = typeof detail === 'string' ? `: ${detail.slice(0, 300)}` : ''
  if (status === 403 && getMember(body, 'code') === 'insufficient-scope')
    return cliError(
      `${url} knows the token of ${token?.from ?? 'this command'}, whose scope does not allow ${path}${detailText}`,
    )
  if (status === 421) return cliError(`${url} does not serve that name (421)${detailText}`)
  if (status === 404)
    return cliError(`${url} has no ${path} (404): is that the admin listener, and not the public one?`)
  if (status >= 300 && status < 400) return cliError(`${url} redirects (${status}), which this command does not follow`)
  return cliError(`${url} ${status < 500 ? 'rejects' : 'fails at'} ${path} (${status})${detailText}`)
}

/**
 * Trusts only the certificate in the file, of any authority and name. The handshake checks it before a token is sent.
 */
export const pinCertificate = (target: AdminTarget, certificate: string): RequestOptions => {
  const expectedFingerprint = tryOrNull(() => new X509Certificate(certificate).fingerprint256)
  if (expectedFingerprint === null)
    throw cliError(`admin.tls.certificate in ${target.file} is no certificate; see: check ${target.file}`)
  return {
    ...verifiedTls(target.host),
    ca: certificate,
    checkServerIdentity: (_, peerCertificate) =>
      peerCertificate.fingerprint256 === expectedFingerprint
        ? undefined
        : cliError(`${targetUrl(target)} ${certificateMismatch(target)}`),
  }
}
