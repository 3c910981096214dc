/** Describes how an edit of the file is noticed. */
export interface ReloadConfig {
  readonly watch: boolean
  /** How often contents are compared; null: never. */
  readonly pollMs: number | null
  /** How the endpoints that an edit brings are tried before it takes effect. */
  readonly preflight: 'connect' | 'health' | 'none'
}
