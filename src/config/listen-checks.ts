import type * as z from 'zod'
import { childAt } from './auth-places.ts'
import { authorityFindings, certificateFindings, revocationFindings } from './certificate.ts'
import type { Finding, Path } from './problem.ts'
import { listenTlsSchema } from './schema/listen.ts'
import { configSchema } from './schema.ts'

const base: Path = ['listen', 'tls']
const { certificates, clientCertificates, clientCa, clientCrl } = listenTlsSchema.shape
const pair = certificates.element
const revoked = clientCrl.unwrap().element

/** Checks what TLS on the public listener is made of: each pair, and that whom to trust is said exactly where clients are asked. */
export function listenTlsFindings(tree: unknown): readonly Finding[] {
  const list = childAt(tree, [...base, 'certificates'])
  const pairs = Array.isArray(list) ? list : []
  return [
    ...pairs.flatMap((each: unknown, index) => {
      const { data } = pair.safeParse(each)
      return data === undefined ? [] : certificateFindings([...base, 'certificates', index], data)
    }),
    ...clientFindings(tree),
  ]
}

function clientFindings(tree: unknown): readonly Finding[] {
  const stated = (key: string): unknown => childAt(tree, [...base, key])
  const asked = read(clientCertificates, stated('clientCertificates'))
  const crl = stated('clientCrl')
  const lists: readonly unknown[] = Array.isArray(crl) ? crl : []
  const ca = read(clientCa, stated('clientCa'))
  return [
    ...(asked === 'none' && stated('clientCa') !== undefined ? [unasked('clientCa')] : []),
    ...(asked === 'none' && lists.length > 0 ? [unasked('clientCrl')] : []),
    ...(asked !== 'none' && asked !== undefined && stated('clientCa') === undefined ? [nobodyTrusted(asked)] : []),
    ...(typeof ca !== 'string' ? [] : authorityFindings([...base, 'clientCa'], ca)),
    ...lists.flatMap((each, index) => {
      const text = read(revoked, each)
      return text === undefined ? [] : revocationFindings([...base, 'clientCrl', index], text)
    }),
  ]
}

const read = <T>(schema: z.ZodType<T>, value: unknown): T | undefined => schema.safeParse(value).data

const unasked = (key: string): Finding => ({
  path: [...base, key],
  message: 'no client is asked for a certificate',
  expected: 'clientCertificates: optional or required beside it',
  found: 'none',
  hint: `add clientCertificates: required, or remove ${key}`,
})

const nobodyTrusted = (asked: string): Finding => ({
  path: [...base, 'clientCertificates'],
  message: 'nobody is trusted to sign certificates of clients',
  expected: 'clientCa beside it',
  found: `${asked}, and no clientCa`,
  hint: 'add clientCa: file:PATH, the certificates of the authorities that sign those of clients',
})

const path = ['listen', 'http2']
const schema = configSchema.shape.listen.unwrap().shape.http2

/** Checks that HTTP/2 has TLS to be chosen in. Without it a client would have to know beforehand (RFC 9113 §3.3), and none does. */
export const http2Findings = (tree: unknown): readonly Finding[] => {
  const isOn = schema.safeParse(childAt(tree, path)).data === true
  if (!isOn || childAt(tree, ['listen', 'tls']) !== undefined) return []
  const message = 'HTTP/2 is chosen by ALPN, which is a part of TLS'
  return [
    {
      path,
      message,
      expected: 'listen.tls beside it',
      found: 'true, and no listen.tls',
      hint: 'add listen.tls, or remove http2',
    },
  ]
}
