import { catalog } from '../../catalog.ts'
import type { Exchanged, Recorder } from '../exchanged.ts'
import { noSpans, type SpanCounts } from '../tracing/trouble.ts'
import type { Metered, MeterReport } from './meter-report.ts'
import { classOf, OperationMeter } from './operation-meter.ts'

/** Counts what one process serves, all its snapshots together. */
export class Meter {
  readonly operations = Object.fromEntries(
    [...catalog.map(({ id }) => id), 'none' as const].map((name) => [name, new OperationMeter()]),
  ) as Readonly<Record<Metered, OperationMeter>>
  /** What became of spans. */
  readonly spans: SpanCounts = noSpans()
  /** By id, then by class of status. Ids are those of the file. */
  readonly #clients = new Map<string, number[]>()

  /** Makes what counts for a snapshot: for each client as well, if asked to. */
  recorder(clients: boolean): Recorder {
    return {
      name: 'metrics',
      record: (exchanged) => {
        const { exchange } = exchanged
        this.operations[exchange?.operation.id ?? 'none'].record(exchanged)
        if (clients && exchange?.identity != null) this.#count(exchange.identity.client, exchanged)
      },
    }
  }

  get report(): MeterReport {
    return {
      operations: Object.fromEntries(
        Object.entries(this.operations).map(([name, each]) => [name, each.report]),
      ) as unknown as MeterReport['operations'],
      spans: { ...this.spans },
      clients: [...this.#clients].flatMap(([client, counts]) =>
        counts.flatMap((count, statusClass) => (count === 0 ? [] : [{ client, statusClass, count }])),
      ),
    }
  }

  #count(client: string, { status }: Exchanged): void {
    let counts = this.#clients.get(client)
    if (counts === undefined) {
      counts = new Array<number>(10).fill(0)
      this.#clients.set(client, counts)
    }
    const at = classOf(status)
    counts[at] = (counts[at] as number) + 1
  }
}
