/** Without the question mark. */
export const targetQuery = (url: string): string => url.split('?').slice(1).join('?')

export const targetPath = (url: string): string => url.split('?', 1)[0] ?? ''

// A query may hold a token. Unauthenticated clients can fill the log, so lines are bounded.
const maxLoggedPath = 100

export const loggablePath = (url: string): string => targetPath(url).slice(0, maxLoggedPath)
