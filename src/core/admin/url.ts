export const targetQuery = (url: string): string => url.split('?').slice(1).join('?')

export const targetPath = (url: string): string => url.split('?', 1)[0] ?? ''

// Without the query, which may hold a token. Bounded: unauthenticated clients can fill the log.
const maxLoggedPath = 100

export const loggablePath = (url: string): string => targetPath(url).slice(0, maxLoggedPath)
