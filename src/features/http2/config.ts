import type { ListenKey } from '../../core/config/config-part.ts'
import { type ConfigRule, parseAt, valueAt } from '../../core/config/rules/rule.ts'
import { annotate } from '../../core/config/schema/annotations.ts'
import { boolean } from '../../core/config/schema/scalar-types.ts'

const http2 = annotate(boolean('Whether clients may choose HTTP/2, by ALPN; needs tls').prefault(false), {
  restart: true,
})

declare module '../../core/config/config.ts' {
  interface ParsedListen {
    readonly http2: boolean
  }
}

export const listenKeys: readonly ListenKey[] = [{ key: 'http2', after: 'interim', schema: http2 }]

/** HTTP/2 without ALPN needs prior knowledge (RFC 9113 §3.3), which no client has. */
const alpn: ConfigRule = (tree) =>
  parseAt(tree, http2, ['listen', 'http2']) === true &&
  valueAt(tree, ['listen', 'tls']) === undefined && {
    path: ['listen', 'http2'],
    message: 'HTTP/2 is chosen by ALPN, which is a part of TLS',
    expected: 'listen.tls beside it',
    found: 'true, and no listen.tls',
    hint: 'add listen.tls, or remove http2',
  }

export const rules: readonly ConfigRule[] = [alpn]
