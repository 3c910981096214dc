import * as z from 'zod'
import type { ListenKey } from '../../core/config/config-part.ts'
import { type ConfigRule, parseAt, valueAt } from '../../core/config/rules/rule.ts'
import { annotate } from '../../core/config/schema/annotations.ts'
import { boolean, choice, map } from '../../core/config/schema/scalar-types.ts'

export type Http2Codec = 'own' | 'node'

const defaultCodec: Http2Codec = 'own'

const http2 = annotate(
  z
    .union([
      boolean('Whether clients may choose HTTP/2, by ALPN; needs tls'),
      map('HTTP/2 by a codec of choice', {
        codec: choice('own: the gateway’s, as with true; node: that of Node, the way back for one release', [
          'own',
          'node',
        ]),
      }),
    ])
    .transform((value): Http2Codec | null => (typeof value === 'object' ? value.codec : value ? defaultCodec : null))
    .prefault(false),
  {
    restart: true,
    render: (codec) => (codec === null ? false : codec === defaultCodec ? true : { codec: codec as Http2Codec }),
  },
)

declare module '../../core/config/config.ts' {
  interface ParsedListen {
    /** Null: HTTP/1 only. */
    readonly http2: Http2Codec | null
  }
}

export const listenKeys: readonly ListenKey[] = [{ key: 'http2', after: 'interim', schema: http2 }]

/** HTTP/2 without ALPN needs prior knowledge (RFC 9113 §3.3), which no client has. */
const alpn: ConfigRule = (tree) =>
  (parseAt(tree, http2, ['listen', 'http2']) ?? null) !== null &&
  valueAt(tree, ['listen', 'tls']) === undefined && {
    path: ['listen', 'http2'],
    message: 'listen.http2 needs TLS: clients choose HTTP/2 by ALPN',
    expected: 'listen.tls beside it',
    found: 'http2, and no listen.tls',
    hint: 'add listen.tls, or remove http2',
  }

export const rules: readonly ConfigRule[] = [alpn]
