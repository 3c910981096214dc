/** Asks a Node process from outside, over its inspector: what is measured needs no code of its own for it. */

// Node has it (undici's), while the types of this project are those of Node without a browser's.
declare const WebSocket: new (
  url: string,
) => {
  send(text: string): void
  close(): void
  addEventListener(event: string, hear: (event: { readonly data: string }) => void): void
}

/** A connection to the inspector of one process. */
export interface Inspector {
  /** Evaluates an expression, and returns its value as JSON knows it. */
  evaluate<Value>(expression: string): Promise<Value>
  /** Collects twice: the first runs finalizers, the second takes what those let go. */
  collect(): Promise<void>
  close(): void
}

interface Message {
  readonly id?: number
  readonly result?: { readonly result?: { readonly value?: unknown }; readonly exceptionDetails?: unknown }
  readonly error?: { readonly message: string }
}

interface Waiting {
  readonly resolve: (result: Message['result']) => void
  readonly reject: (error: Error) => void
}

/**
 * Connects to the address that a process writes on stderr when it runs with `--inspect`. What was asked when it ends,
 * rejects.
 */
export const inspect = async (url: string): Promise<Inspector> => {
  const socket = new WebSocket(url)
  const waiting = new Map<number, Waiting>()
  let asked = 0

  const ended = new Promise<never>((_, reject) => {
    socket.addEventListener('error', () => reject(new Error(`no inspector at ${url}`)))
    socket.addEventListener('close', () => {
      const gone = new Error('the process has ended')
      for (const each of waiting.values()) each.reject(gone)
      waiting.clear()
      reject(gone)
    })
  })
  ended.catch(() => {})
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error }: Message = JSON.parse(data)
    if (id === undefined) return
    const asker = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) asker?.resolve(result)
    else asker?.reject(new Error(error.message))
  })
  await Promise.race([new Promise<void>((resolve) => socket.addEventListener('open', () => resolve())), ended])

  const ask = (method: string, params: object = {}): Promise<Message['result']> =>
    Promise.race([
      new Promise<Message['result']>((resolve, reject) => {
        const id = ++asked
        waiting.set(id, { resolve, reject })
        socket.send(JSON.stringify({ id, method, params }))
      }),
      ended,
    ])

  return {
    async evaluate<Value>(expression: string) {
      const response = await ask('Runtime.evaluate', { expression, returnByValue: true })
      if (response?.exceptionDetails !== undefined) throw new Error(`${expression} threw`)
      return response?.result?.value as Value
    },
    async collect() {
      await ask('HeapProfiler.collectGarbage')
      await ask('HeapProfiler.collectGarbage')
    },
    close: () => socket.close(),
  }
}
