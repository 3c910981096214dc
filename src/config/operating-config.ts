/** Describes the operator's listener. */
export interface AdminConfig {
  readonly host: string
  readonly port: number
  /** Further names, in lower case, that may be asked for as Host. */
  readonly hosts: readonly string[]
  /** What operators send as `Authorization: Bearer …`; null: nothing is asked for. */
  readonly token: string | null
  /** What opens `/metrics` as well, and nothing else: for Prometheus. Null: `token` alone does. */
  readonly metricsToken: string | null
  /** PEM texts; null: plain HTTP. */
  readonly tls: { readonly certificate: string; readonly key: string } | null
  /** Whether an address that other machines reach may do without TLS. */
  readonly insecure: boolean
}

/** Describes how an edit of the file is noticed. */
export interface ReloadConfig {
  readonly watch: boolean
  /** How often contents are compared; null: never. */
  readonly pollMs: number | null
  /** How the endpoints that an edit brings are tried before it takes effect. */
  readonly preflight: 'connect' | 'health' | 'none'
}
