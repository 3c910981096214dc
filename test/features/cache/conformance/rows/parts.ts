import type { Expectation, Reply, ScriptFields } from '../row.ts'
import { asking, cc } from '../script.ts'

/** A response of ten bytes. */
export const digits = (...fields: ScriptFields): Reply => ({ ...cc('max-age=60', ...fields), body: '0123456789' })

/** A request for a part. */
export const range = (value: string, ...fields: ScriptFields) => asking('Range', value, ...fields)

/** The cache responds with a part. */
export const part = (text: string, contentRange: string): Expectation => ({
  asked: false,
  status: 206,
  body: { text },
  fields: { 'content-range': contentRange },
})

/** All ten bytes come: a cache that does not understand a range may also ask the upstream. */
export const wholeFromAnywhere: Expectation = { status: 200, body: { text: '0123456789' } }
