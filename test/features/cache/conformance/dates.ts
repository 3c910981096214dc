/** Writes HTTP-dates in the three forms of RFC 9110 §5.6.7, apart from the code that reads them. */

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const two = (value: number): string => String(value).padStart(2, '0')

/** Writes a time in milliseconds since the epoch, as an origin of today does, or an old one. */
export const httpDate = (ms: number, form: 'imf' | '850' | 'asctime' = 'imf'): string => {
  const date = new Date(ms)
  const day = days[date.getUTCDay()] ?? ''
  const month = months[date.getUTCMonth()] ?? ''
  const ofMonth = date.getUTCDate()
  const year = date.getUTCFullYear()
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':')
  if (form === '850') return `${day}, ${two(ofMonth)}-${month}-${two(year % 100)} ${time} GMT`
  if (form === 'asctime') return `${day.slice(0, 3)} ${month} ${String(ofMonth).padStart(2, ' ')} ${time} ${year}`
  return `${day.slice(0, 3)}, ${two(ofMonth)} ${month} ${year} ${time} GMT`
}

/** The values of a script's placeholders at a moment of its row. */
export interface Moment {
  /** Milliseconds since the epoch. */
  readonly t0: number
  readonly now: number
  /** The row's own query, without its `?`. */
  readonly query: string
}

const word = /@(t0|now)([+-]\d+)?(?::(850|asctime))?|@row/g

/** Replaces the placeholders of a text by dates and the row's query. */
export const spell = (text: string, { t0, now, query }: Moment): string =>
  text.replace(word, (_, from: string | undefined, offset: string | undefined, form: '850' | 'asctime' | undefined) =>
    from === undefined ? query : httpDate((from === 't0' ? t0 : now) + Number(offset ?? 0) * 1000, form),
  )

/** Spells a whole list of fields. */
export const spellFields = (fields: readonly string[], moment: Moment): string[] =>
  fields.map((text, i) => (i % 2 === 0 ? text : spell(text, moment)))
