import { getRawLogDestination } from '../../core/log/log.ts'
import type { PlacedProtections, PrimaryFeature, PrimaryPart } from '../../core/runtime/primary-part.ts'
import { AuditLog } from './audit-log.ts'
import type { AuditWriterState } from './audit-writer.ts'

declare module '../../core/runtime/primary-part.ts' {
  interface PrimaryParts {
    readonly audit: AuditPart
  }
}

interface AuditPart extends PrimaryPart {
  /** Null: no audit log, or another process writes it. */
  readonly state: AuditWriterState | null
}

/** From a worker, or a single line of this process. */
type ReceivedLines = { readonly lines: readonly string[]; readonly lost: number } | string

export const protections: PlacedProtections = {
  before: 'tls.verify',
  value: [{ path: 'audit', isOn: ({ audit }) => audit !== null }],
}

export const open: Required<PrimaryFeature>['open'] = ({ log, droppedLines, config, channel }): AuditPart => {
  const stdout = { write: (line: string) => getRawLogDestination(log).write(line), dropped: droppedLines }
  const auditLog = new AuditLog({ log, stdout })
  auditLog.onChange = (failing) => channel.notify(failing)
  return {
    get state() {
      return auditLog.state
    },
    prepare: ({ audit }) => auditLog.prepare(audit),
    recordAdminEvent: auditLog.recordAdminEvent,
    onReload: () => auditLog.reopen(),
    rejectsAll: () => (config().audit?.onFailure === 'refuse' && auditLog.failing ? 'audit-unavailable' : null),
    receive(received: ReceivedLines) {
      if (typeof received === 'string') auditLog.record(received)
      else auditLog.recordFromWorker(received.lines, received.lost)
    },
    handOver: () => [auditLog.failing],
    close: () => auditLog.close(),
  }
}
