import * as z from 'zod'
import { mark } from './facts.ts'
import { orOff } from './levels.ts'
import { External, scalar, Wrong } from './scalar.ts'
import { choice, optionalSize } from './values.ts'

const file = scalar<string>(
  {
    expected: 'an absolute path such as /var/log/lender-gateway/audit.log, or stdout',
    read: (value) => {
      if (typeof value !== 'string') return new Wrong('wrong type')
      if (value === 'stdout') return value
      if (!value.startsWith('/')) return new Wrong('not an absolute path', 'write a path that begins with /, or stdout')
      return value.includes('\0') || value.endsWith('/') ? new Wrong('not the name of a file') : value
    },
    json: { type: 'string', pattern: '^(stdout|/.*[^/])$' },
  },
  'Where lines are appended; stdout: between the lines of the log',
)

// What an HMAC-SHA-256 can make use of (RFC 2104 §3).
const leastKeyBytes = 32
const keyExpected = `file: and the path of a file with at least ${leastKeyBytes} bytes of text`

/** Reads a key, which stands outside the file: whoever can read what runs could else forge what is recorded. */
const key = mark(
  z
    .unknown()
    .transform((input, context): string => {
      const wrong = refuseKey(input)
      if (wrong === null && input instanceof External) return input.text
      context.addIssue({
        code: 'custom',
        message: wrong?.message ?? '',
        params: { expected: keyExpected, hint: wrong?.hint },
      })
      return z.NEVER
    })
    .meta({ description: 'The key that lines are sealed with', type: 'string', pattern: '^(file:.+|.*\\$\\{.*)$' }),
  { secret: true, file: 'line' },
)

const refuseKey = (input: unknown): Wrong | null => {
  if (input === undefined) return new Wrong('missing', 'make one with: openssl rand -hex 32')
  if (!(input instanceof External)) return new Wrong('a key that is not in a file of its own', 'write file:PATH')
  const { length } = Buffer.from(input.text, 'utf8')
  return length >= leastKeyBytes ? null : new Wrong('too short', 'make one with: openssl rand -hex 32')
}

/** Describes the record of who did what. */
export const auditSchema = mark(
  orOff(
    z
      .strictObject({
        file,
        key,
        digests: choice('Whose SHA-256 is recorded: of bodies that went through whole', [
          'none',
          'request',
          'answer',
          'both',
        ]).prefault('none'),
        onFailure: choice('What becomes of requests while lines cannot be written', ['refuse', 'continue']).prefault(
          'refuse',
        ),
        rotate: optionalSize('At which size the file is renamed and a new one begun', {
          min: 4096,
          max: 1024 ** 4,
        }).prefault('none'),
      })
      .meta({ description: 'The record of every exchange and every order, line by line sealed' }),
    '{ file: …, key: file:… }',
  ),
  { unquoted: true },
)
