/** How a feature in one process of the gateway speaks with itself in the others. What it says is plain data. */
export interface Channel {
  /** Tells the primary, of a worker, or all workers, of the primary. */
  notify(payload: unknown, options?: NotifyOptions): void
  /** Asks the primary. The caller decides how long it waits. */
  ask<Answer>(payload: unknown): Promise<Answer>
}

export interface NotifyOptions {
  /** The worker that is not told: it said so itself. */
  readonly except?: string
  /** Called when it is on its way. */
  readonly onSent?: () => void
}

/** What a feature does with what it is told or asked by itself in another process, which it trusts. */
export interface ChannelEnd {
  /** `from`: the worker that says so; of a worker itself, the primary. */
  receive?(payload: unknown, from: string): void
  /** Answers a worker, in the primary. */
  answer?(payload: unknown): unknown
  /** Lists what a worker that starts is told before it serves. */
  handOver?(): readonly unknown[]
  /** Called when a worker has ended, in the primary. */
  onGone?(worker: string): void
}

/** The ends of all features in a process, by their names. */
export type ChannelEnds = Readonly<Record<string, ChannelEnd>>

/** Hands a feature what another process has told it. */
export const receiveAt = (ends: ChannelEnds, { feature, payload }: FeatureMessage, from: string): void =>
  ends[feature]?.receive?.(payload, from)

/** Lists what a worker that starts is told. */
export const listHandedOver = (ends: ChannelEnds): readonly FeatureMessage[] =>
  Object.entries(ends).flatMap(([feature, end]) => (end.handOver?.() ?? []).map((payload) => ({ feature, payload })))

/** What crosses between processes for a feature. */
export interface FeatureMessage {
  readonly feature: string
  readonly payload: unknown
}

/** A process among those of the gateway. */
export interface ProcessPlace {
  /** It serves alone, it is the primary of several workers, or one of those. */
  readonly role: 'alone' | 'primary' | 'worker'
  /** `gateway` when it is alone; else `primary`, or `worker-1` and so on. */
  readonly name: string
  /** How many processes serve. */
  readonly workers: number
  /** How long a worker waits for the primary where a client waits, in milliseconds. */
  readonly answerMs: number
  /** From one time that a worker tells the primary what would be lost with it to the next, in milliseconds. */
  readonly saveEveryMs: number
  notify(message: FeatureMessage, options?: NotifyOptions): void
  ask(message: FeatureMessage): Promise<unknown>
}

export const aloneProcess: ProcessPlace = {
  role: 'alone',
  name: 'gateway',
  workers: 1,
  answerMs: 0,
  saveEveryMs: 0,
  notify() {},
  ask: () => Promise.reject(new Error('there is no primary')),
}

export const openChannel = (feature: string, { notify, ask }: ProcessPlace): Channel => ({
  notify: (payload, options) => notify({ feature, payload }, options),
  ask: <Answer>(payload: unknown) => ask({ feature, payload }) as Promise<Answer>,
})
