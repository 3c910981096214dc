export interface FeatureMessage {
  readonly feature: string
  readonly payload: unknown
}

/** Sends plain data from a feature in one process to the same feature in the other processes. */
export interface Channel {
  /** To the primary, from a worker; to all workers, from the primary. */
  notify(payload: unknown, options?: NotifyOptions): void
  ask<Reply>(payload: unknown): Promise<Reply>
}

export interface NotifyOptions {
  readonly except?: string
  readonly onSent?: () => void
}

/** The ends of a channel trust one another. */
export interface ChannelEnd {
  /** `from`: the worker that sent it; in a worker, the primary. */
  receive?(payload: unknown, from: string): void
  /** In the primary. */
  reply?(payload: unknown): unknown
  handOver?(): readonly unknown[]
  onGone?(worker: string): void
}

export type ChannelEnds = Readonly<Record<string, ChannelEnd>>

export const receiveAt = (ends: ChannelEnds, { feature, payload }: FeatureMessage, from: string): void =>
  ends[feature]?.receive?.(payload, from)

export const listHandedOver = (ends: ChannelEnds): readonly FeatureMessage[] =>
  Object.entries(ends).flatMap(([feature, end]) => (end.handOver?.() ?? []).map((payload) => ({ feature, payload })))

export interface ProcessPlace {
  readonly role: 'alone' | 'primary' | 'worker'
  readonly name: string
  readonly workers: number
  /** While a client waits. */
  readonly primaryReplyMs: number
  /** A worker that ends loses the state of at most this time. */
  readonly saveEveryMs: number
  notify(message: FeatureMessage, options?: NotifyOptions): void
  ask(message: FeatureMessage): Promise<unknown>
}

export const aloneProcess: ProcessPlace = {
  role: 'alone',
  name: 'gateway',
  workers: 1,
  primaryReplyMs: 0,
  saveEveryMs: 0,
  notify() {},
  ask: () => Promise.reject(new Error('there is no primary')),
}

export const openChannel = (feature: string, { notify, ask }: ProcessPlace): Channel => ({
  notify: (payload, options) => notify({ feature, payload }, options),
  ask: <Reply>(payload: unknown) => ask({ feature, payload }) as Promise<Reply>,
})
