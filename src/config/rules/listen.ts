import { authorityFindings, certificateFindings, revocationFindings } from '../certificate.ts'
import type { Path } from '../problem.ts'
import { listenTlsSchema } from '../schema/listen.ts'
import { configSchema } from '../schema.ts'
import { type Check, childAt, type Found, listAt, readAt } from './rule.ts'

const base: Path = ['listen', 'tls']
const { certificates, clientCertificates, clientCa, clientCrl } = listenTlsSchema.shape
const { http2 } = configSchema.shape.listen.unwrap().shape

const pairs: Check = (tree) =>
  listAt(tree, [...base, 'certificates']).map((_, index) => {
    const path = [...base, 'certificates', index]
    const pair = readAt(tree, certificates.element, path)
    return pair && certificateFindings(path, pair)
  })

/** Whom to trust is said exactly where clients are asked. */
const trust: Check = (tree) => {
  const asked = readAt(tree, clientCertificates, [...base, 'clientCertificates'])
  const hasAuthority = childAt(tree, [...base, 'clientCa']) !== undefined
  if (asked === 'none') {
    const hasLists = listAt(tree, [...base, 'clientCrl']).length > 0
    return [hasAuthority && unasked('clientCa'), hasLists && unasked('clientCrl')]
  }
  return (
    asked !== undefined &&
    !hasAuthority && {
      path: [...base, 'clientCertificates'],
      message: 'nobody is trusted to sign certificates of clients',
      expected: 'clientCa beside it',
      found: `${asked}, and no clientCa`,
      hint: 'add clientCa: file:PATH, the certificates of the authorities that sign those of clients',
    }
  )
}

const unasked = (key: string): Found => ({
  path: [...base, key],
  message: 'no client is asked for a certificate',
  expected: 'clientCertificates: optional or required beside it',
  found: 'none',
  hint: `add clientCertificates: required, or remove ${key}`,
})

const authority: Check = (tree) => {
  const ca = readAt(tree, clientCa, [...base, 'clientCa'])
  return typeof ca === 'string' && authorityFindings([...base, 'clientCa'], ca)
}

const revoked: Check = (tree) =>
  listAt(tree, [...base, 'clientCrl']).map((_, index) => {
    const path = [...base, 'clientCrl', index]
    const text = readAt(tree, clientCrl.unwrap().element, path)
    return text !== undefined && revocationFindings(path, text)
  })

/** HTTP/2 has TLS to be chosen in. Without it a client would have to know beforehand (RFC 9113 §3.3), and none does. */
const alpn: Check = (tree) =>
  readAt(tree, http2, ['listen', 'http2']) === true &&
  childAt(tree, base) === undefined && {
    path: ['listen', 'http2'],
    message: 'HTTP/2 is chosen by ALPN, which is a part of TLS',
    expected: 'listen.tls beside it',
    found: 'true, and no listen.tls',
    hint: 'add listen.tls, or remove http2',
  }

/** Checks what TLS on the public listener is made of. */
export const listenChecks: readonly Check[] = [pairs, trust, authority, revoked, alpn]
