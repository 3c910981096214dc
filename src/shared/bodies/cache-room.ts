/**
 * The share of a cache's memory that responses on their way and pinned bodies may take. The rest stays for what is
 * stored: a client with many responses on their way, or that reads none of them, does not push out all the others.
 */
export const maxOutsideShare = 0.5
