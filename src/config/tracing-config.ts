/** Describes what is told of exchanges to whoever follows a request through several systems. */
export interface TracingConfig {
  /** Null: nothing is told of, and trace contexts are passed on as they come. */
  readonly otlp: OtlpConfig | null
  /** Whether clients are told how long their answers took. */
  readonly serverTiming: boolean
}

/** Describes where spans are sent, and of how many traces. */
export interface OtlpConfig extends ReceiverConfig {
  /** The share (0 to 1) of the traces that begin here; of others, whoever began them has decided. */
  readonly sample: number
}

/** Describes who is sent spans. */
export interface ReceiverConfig {
  /** The whole URL that traces are posted to, in protobuf: OTLP/HTTP. */
  readonly url: string
  readonly headers: readonly { readonly name: string; readonly value: string; readonly secret: boolean }[]
  /** What the gateway is called there. */
  readonly serviceName: string
}
