import { scalar, Wrong } from './scalar.ts'
import { integers } from './values.ts'

const most = 64
const number = integers({ min: 1, max: most })

/** Reads how many processes serve clients; `auto` is left to the machine. */
export const workersSchema = scalar<number | 'auto'>(
  {
    expected: `auto, or a whole number from 1 to ${most}`,
    read: (value, whole) => {
      if (value === 'auto') return 'auto'
      if (typeof value === 'string' && value.trim().toLowerCase() === 'auto')
        return new Wrong('unknown value', 'write auto')
      return number.read(value, whole)
    },
    json: { anyOf: [{ const: 'auto' }, number.json] },
  },
  'How many processes serve clients; auto: one for each core',
)
