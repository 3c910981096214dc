import { flatVerdict, judgeComplaints } from '../judge-run.ts'
import { none, type Verdict } from '../verdict.ts'
import type { Http2Run } from './soak-http2.ts'

/** Judges what clients and floods left of a gateway. */
export const judgeHttp2 = (run: Http2Run): readonly Verdict[] => {
  const { samples, loadMs, clients } = run
  const flat = (what: string, value: (sample: (typeof samples)[number]) => number): Verdict =>
    flatVerdict(
      what,
      samples.map((sample) => ({ atMs: sample.atMs, value: value(sample) })),
      loadMs,
    )
  const sent = clients.reduce((sum, client) => sum + client.sent, 0)
  const lost = clients.filter((client) => client.right < client.sent || client.sent === 0)
  return [
    flat('resident memory', ({ residentKiB }) => residentKiB),
    flat('anonymous memory', ({ anonymousKiB }) => anonymousKiB),
    flat('heap', ({ heapBytes }) => heapBytes),
    none(
      `of ${sent} requests, lost, or with a wrong response`,
      lost.map(({ name, sent, right }) => `${name} ${sent - right} of ${sent}`),
    ),
    none(
      'floods that never came, or were not ended as they should',
      Object.entries(run.floods)
        .filter(([, { times, right }]) => times === 0 || right < times)
        .map(([name, { times, right }]) => `${name} ${times - right} of ${times}`),
    ),
    none('descriptors, handles and timers more or less than before', run.left),
    ...judgeComplaints(run),
  ]
}
