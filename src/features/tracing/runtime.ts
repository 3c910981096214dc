import type { Config } from '../../core/config/config.ts'
import { formatPercent } from '../../core/lib/text/units.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { ProcessPart, RuntimePart } from '../../core/runtime/runtime-part.ts'
import { tracingLayer } from './layer.ts'
import { serverTimingLayer } from './server-timing.ts'
import { TracerRegistry } from './tracer-registry.ts'
import { noopTracing, spanObserver, type Tracing } from './tracing.ts'

const layerRows = ({ tracing: settings }: Config, tracing: Tracing): readonly LayerRow[] => [
  layerRow(
    'tracing',
    'tracing.otlp',
    settings?.otlp ? settings : null,
    ({ otlp, sample }) => `${otlp}, sample: ${formatPercent(sample)}`,
    () => tracingLayer(tracing),
  ),
  layerRow(
    'server-timing',
    'tracing.serverTiming',
    settings?.serverTiming || null,
    String,
    () => serverTimingLayer,
    'false',
  ),
]

export const describe: RuntimePart['describe'] = (config) => ({ layers: () => layerRows(config, noopTracing) })

export { preloadTracing as prepare } from './tracer-registry.ts'

export const open: RuntimePart['open'] = ({ place, requestMetrics, logEvent }): ProcessPart => {
  if (place.role === 'primary') return { acquire: ({ config }) => describe(config) }
  const tracers = new TracerRegistry(requestMetrics.spans, logEvent)
  return {
    acquire({ config }) {
      const { tracing, release } = tracers.acquire(config)
      const isExporting = typeof config.tracing?.otlp === 'string'
      return {
        layers: () => layerRows(config, tracing ?? noopTracing),
        observer: isExporting ? spanObserver : null,
        release,
      }
    },
  }
}
