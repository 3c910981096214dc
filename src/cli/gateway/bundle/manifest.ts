import { createHash } from 'node:crypto'
import { version } from '../../../version.ts'
import { table } from '../table.ts'
import type { Part } from './parts.ts'

interface Made {
  readonly at: Date
  readonly url: string
  readonly addresses: boolean
}

/** Writes what is in the archive, and why what is missing is not. */
export const manifest = (parts: readonly Part[], { at, url, addresses }: Made): string => {
  const facts = [
    ['made', `${at.toISOString()} by lender-gateway ${version()}`],
    ['of', url],
    ['secrets', 'none: *** stands for each, and their digests are left out'],
    ['addresses', addresses ? 'of clients in full: --addresses' : 'of clients cut to their network, /24 or /48'],
  ]
  const rows = parts.map(({ name, what, text, error, absent }) => {
    if (text !== null) return [name, what, `${Buffer.byteLength(text)} bytes`, `sha256:${digest(text)}`]
    return [name, what, absent ? 'none' : 'MISSING', absent ? 'the gateway has none: older, or off' : `${error}`]
  })
  return `${table(facts)}\n\n${table(rows)}\n`
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
