import { accessSync, constants } from 'node:fs'

// What Node's pool of threads does: files, and names that are looked up.
const inPool = /^(FSReq|GetAddrInfo|GetNameInfo)|CloseReq$/

/**
 * The threads of this process that read files just now. A call that hangs keeps them for ever, even one that is
 * terminated.
 */
export const readingThreads = new Set<object>()

// A quarter of a second in all: a disk that works has written by then what was begun.
const maxChecks = 25
const checkIntervalMs = 10

/**
 * Ends the process, once its threads have done what was begun. `process.exit` waits for them, and a disk or a name
 * server that hangs would keep it for ever. So after a quarter of a second a Node that does nothing but exit takes the
 * place of this one. SIGKILL would change the exit code, and the first process of a container gets none from itself.
 */
export const exitProcess = (code: number, checksLeft: number = maxChecks): void => {
  if (readingThreads.size === 0 && !isPoolBusy()) process.exit(code)
  if (checksLeft > 0) return void setTimeout(exitProcess, checkIntervalMs, code, checksLeft - 1)
  try {
    accessSync(process.execPath, constants.X_OK) // where there is none any more, execve would end in an abort
    process.execve?.(process.execPath, ['node', '-e', `process.exit(${code})`], {})
  } catch {}
  process.exit(code)
}

const isPoolBusy = (): boolean => process.getActiveResourcesInfo().some((name) => inPool.test(name))
