import { X509Certificate } from 'node:crypto'
import type { Config } from './config.ts'
import { pemBlocks } from './pem-blocks.ts'
import type { ShownCertificate } from './shown-certificates.ts'

/**
 * Lists whose word counts for certificates of clients: for each key that names authorities, the one of them that ends first. It is named by its
 * subject, in one line.
 */
export const clientAuthorities = ({ listen, auth }: Config): readonly ShownCertificate[] => [
  ...firstToEnd(['listen', 'tls', 'clientCa'], listen.tls?.clientCa ?? ''),
  ...firstToEnd(['auth', 'mtls', 'ca'], auth?.mtls.ca ?? ''),
]

const firstToEnd = (path: ShownCertificate['path'], text: string): readonly ShownCertificate[] =>
  pemBlocks(text)
    .map((block) => new X509Certificate(block))
    .sort((a, b) => a.validToDate.getTime() - b.validToDate.getTime())
    .slice(0, 1)
    .map(({ subject, validToDate }) => ({
      path,
      names: [subject.replaceAll('\n', ', ')],
      notAfter: validToDate.getTime(),
    }))
