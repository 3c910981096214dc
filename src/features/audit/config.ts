import * as z from 'zod'
import type { Config } from '../../core/config/config.ts'
import type { ConfigSection } from '../../core/config/config-part.ts'
import { type ConfigRule, isEnabledAt, valueAt, type WarningRule } from '../../core/config/rules/rule.ts'
import { annotate } from '../../core/config/schema/annotations.ts'
import { optionalPolicy } from '../../core/config/schema/inheritance.ts'
import { scalar } from '../../core/config/schema/scalar.ts'
import { ExternalValue, InvalidScalar, textParser } from '../../core/config/schema/scalar-kind.ts'
import { choice, map, optionalSize } from '../../core/config/schema/scalar-types.ts'

const file = scalar<string>('Where lines are appended; stdout: between the lines of the log', {
  expected: 'an absolute path such as /var/log/lender-gateway/audit.log, or stdout',
  parse: textParser((value) => {
    if (value === 'stdout') return value
    if (!value.startsWith('/'))
      return new InvalidScalar('not an absolute path', 'write a path that begins with /, or stdout')
    return value.includes('\0') || value.endsWith('/') ? new InvalidScalar('not the name of a file') : value
  }),
  json: { type: 'string', pattern: '^(stdout|/.*[^/])$' },
})

// RFC 2104 §3: a shorter key weakens HMAC-SHA-256; a longer one adds little.
const minKeyBytes = 32
const keyExpected = `file: and the path of a file with at least ${minKeyBytes} bytes of text`

/** In a file of its own: with the key, a reader of the configuration could forge records. */
const key = annotate(
  z
    .unknown()
    .transform((input, context): string => {
      const key = parseKey(input)
      if (typeof key === 'string') return key
      const { message, hint } = key
      context.addIssue({ code: 'custom', message, params: { expected: keyExpected, hint } })
      return z.NEVER
    })
    .meta({ description: 'The key that lines are sealed with', type: 'string', pattern: '^(file:.+|.*\\$\\{.*)$' }),
  { secret: true, file: 'line' },
)

const parseKey = (input: unknown): string | InvalidScalar => {
  const hint = 'make one with: openssl rand -hex 32'
  if (input === undefined) return new InvalidScalar('missing', hint)
  if (!(input instanceof ExternalValue))
    return new InvalidScalar('a key that is not in a file of its own', 'write file:PATH')
  return Buffer.byteLength(input.text) >= minKeyBytes ? input.text : new InvalidScalar('too short', hint)
}

const auditSchema = annotate(
  optionalPolicy(
    map('The record of every exchange and every command of an operator, line by line sealed', {
      file,
      key,
      digests: choice('Whose SHA-256 is recorded: of bodies that went through whole', [
        'none',
        'request',
        'response',
        'both',
      ]).prefault('none'),
      onFailure: choice('What becomes of requests while lines cannot be written', ['reject', 'continue']).prefault(
        'reject',
      ),
      rotate: optionalSize('At which size the file is renamed and a new one begun', { min: 4096 }).prefault('none'),
    }),
    '{ file: …, key: file:… }',
  ),
  { sensitive: true },
)

declare module '../../core/config/config.ts' {
  interface ParsedConfig {
    readonly audit: z.output<typeof auditSchema>
  }
}

export type AuditConfig = NonNullable<Config['audit']>

export const sections: readonly ConfigSection[] = [
  { key: 'audit', after: 'admin', schema: auditSchema.prefault('none') },
]

const rotatedStdout: ConfigRule = (tree) =>
  valueAt(tree, ['audit', 'file']) === 'stdout' &&
  isEnabledAt(tree, ['audit', 'rotate']) && {
    path: ['audit', 'rotate'],
    message: 'the gateway cannot rotate standard output',
    expected: 'none where audit.file is stdout',
    found: 'a size',
    hint: 'remove this line, or write the path of a file as audit.file',
  }

export const rules: readonly ConfigRule[] = [rotatedStdout]

const unloggedCheckpoints: WarningRule = ({ config: { audit, log } }) =>
  audit !== null &&
  !['info', 'debug', 'trace'].includes(log.level) && {
    path: ['log', 'level'],
    message: 'the log leaves out the checkpoints of the audit log, so verify cannot see whether its end was cut off',
    expected: 'info',
    found: log.level,
    hint: 'write log: { level: info }, with access: false if that is what was meant',
  }

export const warnings: readonly WarningRule[] = [unloggedCheckpoints]
