import { dirname, resolve } from 'node:path'
import type { AdminContext } from '../../core/admin/admin-context.ts'
import type { Config } from '../../core/config/config.ts'
import type { ViolationPlace } from '../../core/exchange/failures/errors.ts'
import { epochMs } from '../../core/lib/clock.ts'
import {
  asList,
  asMap,
  asNullable,
  asNumber,
  asNumbers,
  asObject,
  asText,
  asWord,
  type Decoded,
} from '../../core/lib/text/decode.ts'
import { formatOptionalTime, formatTime } from '../../core/lib/text/format-time.ts'
import { findDriftedFiles, listDifferingFiles } from '../../core/runtime/reload/config-drift.ts'
import { byOperation, type OperationId } from '../../operations.ts'
import type { ContractMode } from './check/compiled-contract.ts'
import { type DriftReport, type DriftRow, type MessageDirection, totalsOf, zeroUnchecked } from './drift-report.ts'

const directionShape = asObject({
  mode: asWord<ContractMode>(),
  checked: asNumber,
  broken: asNumber,
  rejected: asNumber,
  unchecked: asObject(asNumbers(zeroUnchecked)),
})

export const contractShape = asObject({
  file: asText,
  /** The start of the SHA-256; another contract starts the counts again. */
  digest: asText,
  /** Null: no process counts yet, or an earlier version. */
  countedSince: asNullable(asText),
  operations: asMap(
    asObject({
      /** Null: the contract does not name the operation. */
      line: asNullable(asNumber),
      request: directionShape,
      response: directionShape,
    }),
  ),
})

export type ContractStatus = Decoded<typeof contractShape>

export const wasChecked = ({ operations }: ContractStatus): boolean =>
  Object.values(operations).some(({ request, response }) => request.checked + response.checked > 0)

/**
 * Only the request id is written by a client. `recent`: the last five minutes. `endpoint` null: the last request was
 * sent to none.
 */
export const driftRowShape = asObject({
  operation: asWord<OperationId>(),
  direction: asWord<MessageDirection>(),
  /** With `*` for each index, and for a name that the contract does not have. */
  pointer: asText,
  in: asWord<ViolationPlace>(),
  rule: asText,
  detail: asText,
  count: asNumber,
  recent: asNumber,
  firstAt: asText,
  lastAt: asText,
  client: asText,
  endpoint: asNullable(asText),
  requestId: asNullable(asText),
})

export type DriftRowView = Decoded<typeof driftRowShape>

export const contractReportShape = asObject({
  at: asText,
  contract: asNullable(contractShape),
  differingFiles: asNullable(asList(asText)),
  recent: asList(
    asObject({
      operation: asWord<OperationId>(),
      direction: asWord<MessageDirection>(),
      endpoint: asNullable(asText),
      checked: asNumber,
      broken: asNumber,
      brokenSince: asNullable(asText),
    }),
  ),
  rows: asList(driftRowShape),
  others: asNumber,
})

export type ContractReport = Decoded<typeof contractReportShape>

declare module '../../core/runtime/primary-part.ts' {
  interface PrimaryPart {
    contractReport?(config: Config): Promise<object>
  }
}

export const getContractReport = async ({ report, reloader, parts }: AdminContext): Promise<ContractReport> => {
  const ofParts = Promise.all(Object.values(parts).map((part) => part.contractReport?.(reloader.config)))
  const [drifted, { drift }, more] = await Promise.all([findDriftedFiles(reloader), report(), ofParts])
  return {
    at: formatTime(epochMs()),
    contract: contractStatus(reloader.config, reloader.file, drift),
    differingFiles: listDifferingFiles(reloader, drifted),
    ...Object.assign({}, ...more),
    recent: (drift?.recent ?? []).map(({ lastBrokenAt: _, brokenSince, ...counts }) => ({
      ...counts,
      brokenSince: formatOptionalTime(brokenSince),
    })),
    rows: driftRowViews(drift),
    others: drift?.others ?? 0,
  }
}

export const contractStatus = (config: Config, file: string, drift: DriftReport | null): ContractStatus | null => {
  const { contract, compiledContract, operations } = config
  const contractFile = contract?.file ?? null
  if (contractFile === null || compiledContract === null) return null
  const counts = (operation: OperationId, direction: MessageDirection) => {
    const { checked, broken, rejected, unchecked } = totalsOf(drift, operation, direction)
    return { mode: operations[operation].contract[direction], checked, broken, rejected, unchecked }
  }
  return {
    file: resolve(dirname(file), contractFile),
    digest: compiledContract.digest.slice(0, 12),
    countedSince: formatOptionalTime(drift?.since),
    operations: byOperation(({ id }) => ({
      line: compiledContract.operations[id]?.line ?? null,
      request: counts(id, 'request'),
      response: counts(id, 'response'),
    })),
  }
}

export const driftRowViews = (drift: DriftReport | null): readonly DriftRowView[] => (drift?.rows ?? []).map(toRowView)

const toRowView = ({ firstAt, lastAt, example, ...row }: DriftRow): DriftRowView => ({
  ...row,
  firstAt: formatTime(firstAt),
  lastAt: formatTime(lastAt),
  ...example,
})
