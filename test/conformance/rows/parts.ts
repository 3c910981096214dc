import type { Expectation, Reply, Written } from '../row.ts'
import { asking, cc } from '../script.ts'

/** An answer of ten bytes. */
export const digits = (...fields: Written): Reply => ({ ...cc('max-age=60', ...fields), body: '0123456789' })

/** A request for a part. */
export const range = (value: string, ...fields: Written) => asking('Range', value, ...fields)

/** The cache answers with a part. */
export const part = (text: string, contentRange: string): Expectation => ({
  asked: false,
  status: 206,
  body: { text },
  fields: { 'content-range': contentRange },
})

/** All ten bytes come: who does not know what to make of a range may ask the upstream, too. */
export const wholeFromAnywhere: Expectation = { status: 200, body: { text: '0123456789' } }
