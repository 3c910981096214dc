import { nullable, number, shape, text } from './shape.ts'

/** Is a server that tokens are checked by. */
export interface TokenServerStatus {
  readonly error: string | null
  readonly since: string
  readonly lastSuccess: string | null
  readonly where: string | null
}

/** Is how full the memory of proofs is. */
export interface ProofsStatus {
  readonly remembered: number
  readonly room: number
}

/** Is how it stands with those that there are. */
export interface TokensStatus {
  readonly jwt: (TokenServerStatus & { readonly source: string; readonly keys: number }) | null
  readonly introspection: TokenServerStatus | null
  readonly proofs: ProofsStatus | null
}

const server = { error: nullable(text), since: text, lastSuccess: nullable(text), where: nullable(text) }

/** Reads it. */
export const tokens = shape<TokensStatus>({
  jwt: nullable(shape<NonNullable<TokensStatus['jwt']>>({ source: text, keys: number, ...server })),
  introspection: nullable(shape<TokenServerStatus>(server)),
  proofs: nullable(shape<ProofsStatus>({ remembered: number, room: number })),
})
