import { ResponseBodyQueue } from '../../../src/core/exchange/bodies/response-bodies.ts'
import { createCheckQueue } from '../../../src/features/contract/check-queue.ts'
import { createDriftCounts } from '../../../src/features/contract/drift-counts.ts'
import type { ResponseLayerOptions } from '../../../src/features/contract/response-contract.ts'
import { schemaName, validatorsOf } from './validators.ts'

export const json = ['Content-Type', 'application/json']
export const content = [{ type: 'application/json', schema: schemaName }]

/** What a layer has that holds JSON to an object with the member `a`, in messages of up to 10 bytes. */
export const layerOptions = (more: Partial<ResponseLayerOptions> = {}): ResponseLayerOptions => ({
  validators: validatorsOf({ type: 'object', required: ['a'] }, {}, ['a']),
  driftCounts: createDriftCounts(''),
  checks: createCheckQueue((error) => {
    throw error
  }),
  maxBytes: 10,
  rejectsUnchecked: false,
  sample: 1,
  clientFields: { requestIdField: null, replaced: new Set(), later: new Set() },
  ...more,
})

/** A body of a response that a test sends, with what has been sent of it. */
export const sentBody = (...chunks: readonly string[]): ResponseBodyQueue => {
  const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  for (const chunk of chunks) body.push(Buffer.from(chunk))
  return body
}
