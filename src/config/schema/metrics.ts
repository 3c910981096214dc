import * as z from 'zod'
import { scalar, Wrong } from './scalar.ts'
import { boolean } from './values.ts'

const counted = z
  .strictObject({
    clients: boolean('Whether requests are counted for each client of the file as well').prefault(false),
  })
  .meta({ description: 'What is counted' })

const onOrOff = scalar<boolean>(
  {
    expected: 'true, none or { clients: true }',
    read: (value, whole) => {
      if (typeof value === 'boolean') return value
      if (value === 'none') return false
      if (whole && (value === 'true' || value === 'false')) return value === 'true'
      return new Wrong('neither true nor none', 'write true, or none to turn it off')
    },
    json: { enum: [true, false, 'none'] },
  },
  'Whether exchanges are counted',
)

/** Describes what is counted for /metrics, the page and top; null: nothing. */
export const metricsSchema = z
  .union([onOrOff, counted])
  .transform((given) => (given === true ? counted.parse({}) : given === false ? null : given))
  .meta({ description: 'What is counted of exchanges, for /metrics and the page of the admin listener' })
