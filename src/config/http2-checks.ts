import type { Finding } from './problem.ts'
import { configSchema } from './schema.ts'
import { childAt } from './tree.ts'

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
