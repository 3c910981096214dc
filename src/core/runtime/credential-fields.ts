import type { Config } from '../config/config.ts'

export const listCredentialFields = ({ auth, cache }: Config): readonly string[] =>
  [auth?.apiKey.field, auth?.identityField, ...cache.credentials].filter((each) => each != null)
