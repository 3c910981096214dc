import type { SpanContext } from '@opentelemetry/api'
import { type Fields, isNamed } from '../../fields.ts'

/** Lists the fields of W3C Trace Context. Neither is of use without the other's being sound. */
export const contextFields: ReadonlySet<string> = new Set(['traceparent', 'tracestate'])

/** Is the field that says which trace a request belongs to. */
export const parentField: ReadonlySet<string> = new Set(['traceparent'])

/**
 * Reads which trace a request belongs to. `broken`: it says so in no way that counts, or more than once, and a new trace begins without
 * what is said of the old (W3C Trace Context §3.2, §4.3). Null: it says nothing.
 */
export const readContext = (
  fields: Fields,
  parse: (value: string) => SpanContext | null,
): SpanContext | 'broken' | null => {
  let parent: string | null = null
  let isStated = false
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (name.length === 11 && isNamed(name, 'traceparent')) {
      if (parent !== null) return 'broken'
      parent = fields[i + 1] as string
    } else if (name.length === 10 && isNamed(name, 'tracestate')) isStated = true
  }
  if (parent === null) return isStated ? 'broken' : null
  const context = parse(parent)
  return context === null ? 'broken' : { ...context, isRemote: true }
}

/** Writes which trace a request belongs to, and whose child it is. */
export const traceparent = (traceId: string, spanId: string, isSampled: boolean): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
