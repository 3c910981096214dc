/** What enforced messages give up when they go no further. */
import { expect, test, vi } from 'vitest'
import { GatewayError } from '../../../src/failures/errors.ts'
import { CheckQueue } from '../../../src/layers/contract/check-queue.ts'
import type { ContractLayerOptions } from '../../../src/layers/contract/contract-options.ts'
import { enforceRequestLayer } from '../../../src/layers/contract/request-contract.ts'
import { enforceResponseLayer } from '../../../src/layers/contract/response-contract.ts'
import { DriftCounts } from '../../../src/observe/contract/drift-counts.ts'
import { chunkedBody, fakeExchange, fakeResponse } from '../../helpers/exchange.ts'
import { schemaName, validatorsOf } from '../../helpers/validators.ts'

const json = ['Content-Type', 'application/json']
const content = [{ type: 'application/json', schema: schemaName }]

const options: ContractLayerOptions = {
  validators: validatorsOf({ type: 'object' }),
  driftCounts: new DriftCounts(''),
  checks: new CheckQueue(() => {}),
  maxBytes: 10,
  refusesUnchecked: false,
  sample: 1,
}

test('an upload that is too long to be checked stops when it cannot be forwarded', async () => {
  const body = chunkedBody('{"a":', '"a long text"', '}')
  const refused = new GatewayError('connect-failed')
  const layer = enforceRequestLayer({ parameters: [], body: { required: true, content } }, options)

  await expect(layer(() => Promise.reject(refused))(fakeExchange({ body, fields: json }))).rejects.toBe(refused)

  expect(body.isStopped).toBe(true)
})

test.each([
  ['status that the contract has not', 500, json],
  ['type that the contract has not', 200, ['Content-Type', 'text/html']],
])('a response of a %s is rejected, and its body is not waited for', async (_, status, fields) => {
  const discard = vi.fn()
  const response = { ...fakeResponse(status), fields, body: { ...fakeResponse().body, discard } }
  const layer = enforceResponseLayer([{ status: '200', headers: [], content }], options)

  const onBrokenAnswer = vi.fn()
  const exchange = Object.assign(fakeExchange(), { onBrokenAnswer })

  await expect(layer(() => Promise.resolve(response))(exchange)).rejects.toMatchObject({ kind: 'invalid-response' })

  expect(discard).toHaveBeenCalledTimes(1)
  expect(onBrokenAnswer).toHaveBeenCalledTimes(1)
})
