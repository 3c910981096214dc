/** An `import` of `node:http` reads each export, and so loads Node's `fetch`: 10 MB. */
export const { Agent, createServer, METHODS, request, STATUS_CODES } = process.getBuiltinModule('node:http')

export const knownMethods: ReadonlySet<string | undefined> = new Set(METHODS)
