import type { Group } from '../../src/operations.ts'

/** Something that was done to the gateway or behind it, for as long as it has consequences. */
interface Disturbance {
  readonly what: string
  readonly group: Group | 'all'
  /** What may be said of a request meanwhile. */
  readonly may: ReadonlySet<string>
  readonly from: number
  until: number
}

/** A request whose response is to be explained. */
export interface DisturbedRequest {
  readonly group: Group
  readonly said: string
  readonly sentAt: number
  readonly at: number
}

/** Remembers when what was disturbed: only that explains why a request did not go well. */
export class Disturbances {
  readonly #known: Disturbance[] = []
  readonly counts = new Map<string, number>()

  /**
   * Begins one, and returns how to end it; its consequences last for `aftermathMs` more. It began just now, unless
   * `from` says when.
   */
  begin(
    what: string,
    group: Group | 'all',
    may: readonly string[],
    aftermathMs: number,
    from = performance.now(),
  ): () => void {
    const disturbance: Disturbance = {
      ...{ what, group, may: new Set(may) },
      ...{ from, until: Number.POSITIVE_INFINITY },
    }
    this.#known.push(disturbance)
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
    return () => {
      disturbance.until = performance.now() + aftermathMs
    }
  }

  /** Names everything that explains a response. */
  explain({ group, said, sentAt, at }: DisturbedRequest): readonly string[] {
    const found = this.#known.filter(
      (each) =>
        (each.group === 'all' || each.group === group) && each.may.has(said) && each.from <= at && each.until >= sentAt,
    )
    return found.map(({ what }) => what)
  }
}
