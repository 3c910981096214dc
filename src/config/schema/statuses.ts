import { scalar, Wrong } from './scalar.ts'

/** Is a range of statuses, both ends included. */
export interface Statuses {
  readonly from: number
  readonly to: number
}

/** Reads one status or a range of them. */
export const statuses = (description: string) =>
  scalar<Statuses>(
    {
      expected: 'a status from 200 to 599, or a range such as 200-299',
      read: (value) => {
        if (typeof value === 'boolean') return new Wrong('wrong type')
        const text = String(value)
        const [, first, last = first] = /^(\d{3})(?:-(\d{3}))?$/.exec(text) ?? []
        if (first === undefined || last === undefined) return new Wrong('not a range of statuses', meant(text))
        const [from, to] = [Number(first), Number(last)]
        if (!isStatus(from) || !isStatus(to))
          return new Wrong('no such status', 'the status of an answer is from 200 to 599')
        return from > to ? new Wrong('a range the wrong way round', `write ${to}-${from}`) : { from, to }
      },
      // A single status is a number in the file.
      write: ({ from, to }) => (from === to ? from : `${from}-${to}`),
      json: {
        anyOf: [
          { type: 'integer', minimum: 200, maximum: 599 },
          { type: 'string', pattern: '^[2-5][0-9]{2}(-[2-5][0-9]{2})?$' },
        ],
      },
    },
    description,
  )

const isStatus = (status: number): boolean => status >= 200 && status <= 599

const meant = (text: string): string | undefined => {
  const [, hundreds] = /^\s*([2-5])xx\s*$/i.exec(text) ?? []
  if (hundreds !== undefined) return `write ${hundreds}00-${hundreds}99`
  const [, from, to] = /^\s*(\d{3})\s*(?:-|–|\.\.+|to|,)\s*(\d{3})\s*$/.exec(text) ?? []
  return from === undefined ? undefined : `write ${from}-${to}`
}
