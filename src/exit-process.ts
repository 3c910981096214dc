// What Node's pool of threads does: files, and names that are looked up.
const inPool = /^(FSReq|GetAddrInfo|GetNameInfo)|CloseReq$/

/**
 * Ends the process. `process.exit` waits for the pool of threads, and a disk or a name server that hangs would keep it
 * for ever: then a Node that does nothing but exit takes the place of this one. SIGKILL would change the exit code, and
 * the first process of a container gets none from itself.
 */
export const exitProcess = (code: number): never => {
  if (process.getActiveResourcesInfo().some((name) => inPool.test(name))) {
    try {
      process.execve?.(process.execPath, ['node', '-e', `process.exit(${code})`], {})
    } catch {} // that Node is gone: it waits
  }
  return process.exit(code)
}
