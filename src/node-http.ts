/**
 * The parts of `node:http` that the gateway uses. An `import` of that module reads each of its exports, and so loads
 * what three of them need: Node's `fetch`, 10 MB that nothing here uses. This call reads none.
 */
export const {
  Agent,
  createServer,
  IncomingMessage,
  METHODS,
  request,
  ServerResponse,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} = process.getBuiltinModule('node:http')
