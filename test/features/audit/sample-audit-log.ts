import { exchangeLine, headLine } from '../../../src/features/audit/audit-line.ts'
import {
  type AuditKey,
  type ChainPosition,
  genesis,
  seal,
  toAuditKey,
} from '../../../src/features/audit/chain/chain.ts'
import { type AuditFinding, ChainVerifier, type Checkpoint } from '../../../src/features/audit/chain/chain-verifier.ts'
import { exchangeRecord } from '../../core/log/exchange-record.ts'

export const key: AuditKey = toAuditKey('k'.repeat(32))

/** An audit log as text, and the end of its chain. */
export interface Sample {
  readonly text: string
  readonly link: ChainPosition
}

/** Writes a file: its first line, then exchanges. */
export const sample = (exchanges: number, before: ChainPosition = genesis(), sealed: AuditKey = key): Sample => {
  const contents = [
    headLine(0, before.count === 0 ? 'start' : 'file', before, sealed, null),
    ...Array.from({ length: exchanges }, (_, n) => exchangeLine(n, exchangeOf(n))),
  ]
  let link = before
  let text = ''
  for (const each of contents) {
    const next = seal(sealed, link, each)
    text += next.line
    link = next.link
  }
  return { text, link }
}

export const exchangeOf = (n: number) => ({
  requestId: `id-${n}`,
  client: '192.0.2.7',
  status: 200,
  failure: null,
  configHash: '0123456789ab',
  exchange: exchangeRecord({ endpoint: 'http://127.0.0.1:9' }).exchange,
})

export interface VerifyOptions {
  readonly checkpoints?: readonly Checkpoint[]
  readonly keys?: readonly AuditKey[]
  readonly mixed?: boolean
}

/** The files are named a, b, … */
export const verified = (
  files: readonly (string | Buffer)[],
  { checkpoints = [], keys = [key], mixed = false }: VerifyOptions = {},
): ChainVerifier => {
  const verifier = new ChainVerifier(keys, checkpoints, mixed)
  for (const [nth, file] of files.entries()) {
    const bytes = Buffer.from(file)
    let line = 0
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(10, at)
      const place = { file: 'abc'[nth] ?? '', line: ++line }
      verifier.verifyLine(bytes.subarray(at, end === -1 ? bytes.length : end), place, end !== -1)
      at = end === -1 ? bytes.length : end + 1
    }
  }
  verifier.finish()
  return verifier
}

export const places = (findings: readonly AuditFinding[]): readonly string[] =>
  findings.map(({ file, line }) => `${file}:${line}`)

/** Positions of faults: `a:3`. */
export const faults = (...of: Parameters<typeof verified>): readonly string[] => places(verified(...of).findings)
