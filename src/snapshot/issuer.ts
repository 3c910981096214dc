import { openServer } from '../shared/server.ts'

// Far more than any issuer's keys take, and time enough for one that is slow.
const bounds = { maxBytes: 256 * 1024, timeoutMs: 5000, connections: 1 } as const

/** Is who publishes keys at a URL. */
export interface Issuer {
  /** Fetches the text of its JWK Set. Rejects with an Error whose message is for operators. */
  fetchKeys(): Promise<string>
  /** Breaks off whatever is fetched. */
  close(): void
}

/** Knows how to fetch the keys at a URL: 256 KiB at most, within 5 s. */
export const openIssuer = (url: URL): Issuer => {
  const server = openServer(url, bounds)
  return {
    async fetchKeys() {
      const { status, text } = await server.ask({
        method: 'GET',
        headers: { accept: 'application/jwk-set+json, application/json' },
      })
      if (status !== 200) throw new Error(`it answered ${status}`)
      return text
    },
    close: () => server.close(),
  }
}
