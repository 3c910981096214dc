import type { Config } from '../config/config.ts'

/** Lists the fields that hold credentials of clients, or name them, as the file has it. */
export const listCredentialFields = ({ auth, cache }: Config): readonly string[] =>
  [auth?.apiKey.field, auth?.identityField, ...cache.credentials].filter((each) => each != null)
