/**
 * The memory of a process for bodies of one kind that are kept whole, until they were checked or sent: as much as 64 of
 * 1 MiB. Beyond it a body that is reported goes unchecked; one that is enforced has no room.
 */
export const usualBodyBytes = 64 * 1024 ** 2

/**
 * The share of a cache's memory that responses on their way and pinned bodies may take. The rest stays for what is
 * stored: a client with many responses on their way, or that reads none of them, does not push out all the others.
 */
export const maxOutsideShare = 0.5
