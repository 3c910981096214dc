/**
 * The parts of `node:http` that the gateway uses. An `import` of that module reads each of its exports, and so loads
 * what three of them need: Node's `fetch`, 10 MB that nothing here uses. This call reads none.
 */
export const { Agent, createServer, METHODS, request, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http')

/** The methods that servers know: those of RFC 9110 §9, and registered ones. */
export const knownMethods: ReadonlySet<string | undefined> = new Set(METHODS)
