import { createHash, type Hash, hash } from 'node:crypto'
import type { Config } from '../../core/config/config.ts'
import { ObservedResponseBody } from '../../core/exchange/bodies/response-bodies.ts'
import { addDataListener, type RequestBody, type ResponseBody } from '../../core/exchange/body.ts'
import type { Handler, Layer } from '../../core/exchange/exchange.ts'
import { auditUnavailableError } from '../../core/exchange/failures/errors.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart } from '../../core/runtime/runtime-part.ts'
import { type BodyDigests, digestsOf } from './audit-line.ts'
import { type AuditSink, auditObserver, nullAuditSink, openAuditSink } from './audit-sink.ts'
import type { AuditConfig } from './config.ts'

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

/** Outermost: a rejected exchange costs nothing else, and digests are of the client's bytes. Null: nothing to do. */
export const auditLayer = ({ onFailure, digests }: AuditConfig, auditor: AuditSink): Layer | null => {
  const digestsRequest = digests === 'request' || digests === 'both'
  const digestsResponse = digests === 'response' || digests === 'both'
  const rejectsOnFailure = onFailure === 'reject'
  if (digests === 'none')
    return rejectsOnFailure ? (next) => (exchange) => (auditor.failing ? auditFailure() : next(exchange)) : null
  return (next): Handler =>
    (exchange) => {
      if (rejectsOnFailure && auditor.failing) return auditFailure()
      const bodyDigests = { request: null, response: null }
      digestsOf.set(exchange, bodyDigests)
      if (digestsRequest) digestRequest(exchange.body, bodyDigests)
      if (!digestsResponse) return next(exchange)
      return next(exchange).then((response) => ({ ...response, body: digestingBody(response.body, bodyDigests) }))
    }
}

const auditFailure = (): Promise<never> => Promise.reject(auditUnavailableError())

const digestRequest = (body: RequestBody, digests: BodyDigests): void => {
  if (body.length === 0) return
  let digest: Hash | null = null
  addDataListener(body, (chunk) => {
    digest ??= createHash('sha256')
    if (chunk === null) digests.request = digest.digest('hex')
    else digest.update(chunk)
  })
}

const digestingBody = (body: ResponseBody, digests: BodyDigests): ResponseBody => {
  let digest: Hash | null = null
  return new ObservedResponseBody(body, {
    onChunk(chunk) {
      digest ??= createHash('sha256')
      digest.update(chunk)
    },
    onWhole(whole) {
      digests.response = hash('sha256', whole)
    },
    onEnd() {
      digests.response ??= (digest ?? createHash('sha256')).digest('hex')
    },
    onCut() {},
  })
}
