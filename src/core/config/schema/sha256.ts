import { annotate } from './annotations.ts'
import { InvalidScalar, scalar } from './scalar.ts'

/** The schema of the SHA-256 of a secret, which `command` makes; parsed to lower case. It is never shown. */
export const secretDigest = (description: string, command: string) =>
  annotate(
    scalar<string>(
      {
        expected: `64 hex digits, as lender-gateway ${command} prints them`,
        parse: (value) => {
          if (typeof value !== 'string') return new InvalidScalar('wrong type', 'put it in quotes')
          return /^[0-9a-f]{64}$/i.test(value)
            ? value.toLowerCase()
            : new InvalidScalar('not a SHA-256', `make one with: lender-gateway ${command}`)
        },
        json: { type: 'string', pattern: '^[0-9A-Fa-f]{64}$' },
      },
      description,
    ),
    { secret: true },
  )
