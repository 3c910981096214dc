/** Tells the query of a request target, without its question mark. */
export const targetQuery = (url: string): string => url.split('?').slice(1).join('?')

/** Tells the path of a request target. */
export const targetPath = (url: string): string => url.split('?', 1)[0] ?? ''

// Somebody may write a token into the query, and whoever has none can leave lines, though not long ones.
const maxLoggedPath = 100

/** Tells what of a request target may stand in a log. */
export const loggablePath = (url: string): string => targetPath(url).slice(0, maxLoggedPath)
