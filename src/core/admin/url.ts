/** Gets the query of a request target, without its question mark. */
export const targetQuery = (url: string): string => url.split('?').slice(1).join('?')

export const targetPath = (url: string): string => url.split('?', 1)[0] ?? ''

// A client may write a token into the query; and a client without a token can leave log lines, though not long ones.
const maxLoggedPath = 100

export const loggablePath = (url: string): string => targetPath(url).slice(0, maxLoggedPath)
