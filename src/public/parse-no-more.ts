import type { Socket } from 'node:net'

/**
 * A connection with the parser that Node's HTTP server has put on it. `onIncoming` takes each request that was parsed; what it
 * returns tells the parser how to go on. Neither is documented, though both are as old as Node's parser. Seen on Node 24.21.
 */
type Parsed = Socket & { readonly parser?: { onIncoming: unknown } | null }

// What an upgrade returns: HTTP ends here. The rest of the packet, and all that follows, is dropped.
const endOfRequests = (): number => 2

/** Has Node make no further request of what a connection brings. The responses that are due go out meanwhile. */
export const parseNoMore = ({ parser }: Parsed): void => {
  if (parser != null) parser.onIncoming = endOfRequests
}
