import { formatPercent } from '../units.ts'
import { type Effective, literal, values } from './shown.ts'
import type { TracingConfig } from './tracing-config.ts'

/** Writes what is told of exchanges beyond the log, in the spelling of the file. */
export const traced = ({ otlp, serverTiming }: TracingConfig): Effective => {
  if (otlp === null) return serverTiming ? { serverTiming } : 'none'
  const { url, headers, sample, serviceName } = otlp
  return {
    otlp: literal(url),
    headers: values(headers),
    sample: formatPercent(sample),
    serviceName: literal(serviceName),
    serverTiming,
  }
}
