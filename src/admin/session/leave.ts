// All else is left out on purpose: a cookie goes along with whatever a browser sends here, so what it alone lets in changes nothing.
const readable: ReadonlySet<string> = new Set([
  '/',
  '/events',
  '/overview',
  '/refused',
  '/status',
  '/config',
  '/metrics',
])

/** Tells whether a path is a page of actions, which also take a form with its token. */
export const isAction = (path: string): boolean => path.startsWith('/actions/')

/** Tells whether a session is enough for a request: to read, and to send the forms of the pages, which are believed with their token only. */
export const mayBySession = (method: string | undefined, path: string): boolean => {
  if (isReading(method)) return readable.has(path) || isAction(path)
  return method === 'POST' && (path === '/logout' || isAction(path))
}

/** Tells whether a request asks for nothing but what everybody may have: the form that one logs in by, and how pages look. */
export const isOpen = (method: string | undefined, path: string): boolean =>
  path === '/login' || (isReading(method) && path.startsWith('/assets/'))

const isReading = (method: string | undefined): boolean => method === 'GET' || method === 'HEAD'
