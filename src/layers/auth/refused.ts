/** Is why a credential proves nothing: for the log alone, in words that hold nothing of the credential. Not worth a stack: anybody can cause it. */
export class Refused extends Error {
  constructor(reason: string) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(reason)
    Error.stackTraceLimit = limit
    this.name = 'Refused'
  }
}

/** Is why it cannot be found out whether a credential is good: the server that knows cannot be asked. */
export class Unavailable extends Error {
  constructor(reason: string) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(reason)
    Error.stackTraceLimit = limit
    this.name = 'Unavailable'
  }
}
