import * as z from 'zod'
import { optional } from './facts.ts'
import { scalar, Wrong } from './scalar.ts'
import { statuses } from './statuses.ts'
import { duration, integer } from './values.ts'

const maxPathLength = 1024

const path = scalar<string>(
  {
    expected: `a path such as /healthz, at most ${maxPathLength} characters, a query allowed`,
    read: (value) => {
      if (typeof value !== 'string') return new Wrong('wrong type')
      if (/^https?:/i.test(value)) return new Wrong('not a path', 'write the path alone: it is asked of each endpoint')
      // What stands in a request line ends at a blank, and a fragment is never sent (RFC 9112 §3.2.1).
      if (!/^[\x21-\x7e]*$/.test(value))
        return new Wrong('a path with a character that must be encoded', 'percent-encode it, e.g. a space as %20')
      if (value.includes('#')) return new Wrong('a path with a fragment', 'remove # and what follows it')
      if (!value.startsWith('/'))
        return new Wrong('not an absolute path', `write /${/^[\w./-]+$/.test(value) ? value : '…'}`)
      return value.length > maxPathLength ? new Wrong('too long') : value
    },
    json: { type: 'string', pattern: '^/[!"$-~]*$', maxLength: maxPathLength },
  },
  "What is asked for with GET, query included; an endpoint's path prefix is not put in front",
)

const streak = (description: string) => integer(description, { min: 1, max: 100 })

/** Describes the probes of an endpoint; carries the built-in values, and the path has none. */
export const healthCheckSchema = z
  .strictObject({
    path: optional(path),
    interval: duration('How long after one probe the next one follows', { min: 100, max: 3_600_000 }).prefault('5s'),
    timeout: duration('Longest probe, connecting included').prefault('2s'),
    expect: statuses('The statuses of a healthy endpoint').prefault('200-299'),
    healthyAfter: streak('So many good probes in a row bring an endpoint back').prefault(2),
    unhealthyAfter: streak('So many bad probes in a row take it out').prefault(3),
  })
  .meta({ description: 'Probes each endpoint on a timer; path is required' })
