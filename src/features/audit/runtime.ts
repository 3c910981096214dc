import type { Config } from '../../core/config/config.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart } from '../../core/runtime/runtime-part.ts'
import { type AuditSink, auditObserver, nullAuditSink } from './audit-sink.ts'
import { auditLayer } from './layer.ts'
import { openAuditSink } from './remote-audit-sink.ts'

const layerRows = ({ audit }: Config, sink: AuditSink): readonly LayerRow[] => [
  layerRow(
    'audit',
    'audit.onFailure',
    audit,
    ({ onFailure, digests }) => `onFailure: ${onFailure}, digests: ${digests}`,
    (rules) => auditLayer(rules, sink),
  ),
]

export const describe: RuntimePart['describe'] = (config) => ({ layers: () => layerRows(config, nullAuditSink) })

export const open: RuntimePart['open'] = ({ place, channel }) => {
  const sink = openAuditSink(place.role, channel)
  return {
    receive: (failing) => sink.receive?.(failing, ''),
    flushed: async () => sink.flushed?.(),
    acquire: ({ config }) => ({
      layers: () => layerRows(config, sink),
      observer: config.audit && auditObserver(sink),
    }),
  }
}
