import { getRawLogDestination } from '../../core/log/log.ts'
import type { PlacedProtections, PrimaryFeature, PrimaryPart } from '../../core/runtime/primary-part.ts'
import type { AuditLog } from './audit-log.ts'
import type { AuditWriterState } from './audit-writer.ts'

declare module '../../core/runtime/primary-part.ts' {
  interface PrimaryParts {
    readonly audit: AuditPart
  }
}

interface AuditPart extends PrimaryPart {
  readonly state: AuditWriterState | null
}

/** Lines of a worker, or one line of this process. */
type ReceivedLines = { readonly lines: readonly string[]; readonly lost: number } | string

export const protections: PlacedProtections = {
  before: 'tls.verify',
  value: [{ path: 'audit', isOn: ({ audit }) => audit !== null }],
}

export const open: Required<PrimaryFeature>['open'] = ({ log, droppedLines, config, channel }): AuditPart => {
  const stdout = { write: (line: string) => getRawLogDestination(log).write(line), dropped: droppedLines }
  let auditLog: AuditLog | null = null
  const isFailing = (): boolean => auditLog?.failing ?? false
  return {
    get state() {
      return auditLog?.state ?? null
    },
    async prepare({ audit }) {
      if (auditLog !== null) return auditLog.prepare(audit)
      if (audit === null) return {}
      const loaded = new (await import('./audit-log.ts')).AuditLog({ log, stdout })
      loaded.onChange = (failing) => channel.notify(failing)
      const { commit, discard } = await loaded.prepare(audit)
      // From here on it keeps lines until its file is open.
      auditLog = loaded
      const forget = async (): Promise<void> => {
        auditLog = null
        await discard()
      }
      return { commit, discard: forget }
    },
    recordAdminEvent: (...event) => auditLog?.recordAdminEvent(...event),
    onReload: () => auditLog?.reopen(),
    rejectsAll: () => (config().audit?.onFailure === 'reject' && isFailing() ? 'audit-unavailable' : null),
    receive(received: ReceivedLines) {
      if (typeof received === 'string') auditLog?.record(received)
      else auditLog?.recordFromWorker(received.lines, received.lost)
    },
    handOver: () => [isFailing()],
    close: async () => auditLog?.close(),
  }
}
