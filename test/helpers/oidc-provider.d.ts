/** Describes as much of it as the tests use: it has no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
  }

  export { Provider as default }
}
