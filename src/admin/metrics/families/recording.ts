import { counter, gauge, type Metric } from '../metric.ts'

/** Says whether all that is to be written of exchanges is: in the log, in the audit log. */
export const recording: readonly Metric[] = [
  counter(
    'log_lines_dropped_total',
    'Log lines that were dropped because their reader was too slow.',
    [],
    ({ droppedLines }) => [[droppedLines]],
  ),
  counter(
    'audit_lines_total',
    'Lines that the chain of the audit log has, those of processes before this one among them.',
    [],
    ({ audit }) => (audit === null ? [] : [[audit.count]]),
  ),
  counter(
    'audit_lines_lost_total',
    'Lines of the audit log that could not be kept until they could be written.',
    [],
    ({ audit }) => (audit === null ? [] : [[audit.lost]]),
  ),
  gauge('audit_failing', 'Whether the audit log cannot be written (1).', [], ({ audit }) =>
    audit === null ? [] : [[audit.reason === null ? 0 : 1]],
  ),
  gauge('audit_waiting_bytes', 'Lines of the audit log that wait to be written.', [], ({ audit }) =>
    audit === null ? [] : [[audit.waitingBytes]],
  ),
]

/** Says what became of the spans that were to be sent. */
export const spans: readonly Metric[] = [
  counter(
    'spans_total',
    'Spans of traces, by what became of them: taken by the receiver (exported), never sent for want of room (dropped), or sent and not taken (failed).',
    ['outcome'],
    ({ meter }) => [
      ['exported', meter.spans.exported],
      ['dropped', meter.spans.dropped],
      ['failed', meter.spans.failed],
    ],
  ),
]
