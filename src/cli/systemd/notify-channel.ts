import { spawn } from 'node:child_process'

/** Sends one message to systemd, of lines `NAME=VALUE`, three at most. Rejects when it was not taken. */
export type SendNotification = (assignments: readonly string[]) => Promise<void>

/**
 * Opens the way to systemd. Node has no datagram sockets with a path, so the program `systemd-notify` sends. To start a
 * process copies the page tables of this one: 16 ms of the event loop at 300 MB. So a shell is started once, while this
 * process is small, and starts the program for each message: it waits for lines, and ends with this process.
 */
export const openNotifyChannel = (socket: string, path = process.env.PATH): SendNotification => {
  const start = () => startShell(socket, path)
  let shell = start()
  return async (assignments) => {
    if (shell.hasEnded()) shell = start()
    const status = await shell.ask(assignments.map((each) => each.replaceAll(/[\t\n]/g, ' ')).join('\t'))
    if (status !== '0') throw new Error(`systemd-notify ended with ${status}`)
  }
}

// The program waits until systemd has read the message, for 5 s at most: once the sender is gone, systemd cannot tell
// whose the message is.
const script = `while IFS='\t' read -r a b c; do systemd-notify "$a" \${b:+"$b"} \${c:+"$c"}; echo $?; done`

interface Shell {
  hasEnded(): boolean
  /** Writes a line, and resolves to the line that comes back. One at a time. */
  ask(line: string): Promise<string>
}

const startShell = (socket: string, path: string | undefined): Shell => {
  // No other variable of this process is passed on: it may be a secret.
  const child = spawn('/bin/sh', ['-c', script], {
    env: { PATH: path, NOTIFY_SOCKET: socket },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  // A gateway that cannot start ends although the shell still waits for lines.
  child.unref()
  for (const stream of [child.stdin, child.stdout]) if ('unref' in stream) (stream as { unref(): void }).unref()
  child.stdin.on('error', () => {}) // it has ended, which `ask` reports
  child.stdout.setEncoding('utf8')
  let ended: Error | null = null
  const end = new Promise<void>((resolve) => {
    const settle = (error: Error): void => {
      ended ??= error
      resolve()
    }
    child.once('error', settle)
    child.once('close', () => settle(new Error('the shell of systemd-notify has ended')))
  })
  return {
    hasEnded: () => ended !== null,
    ask: (line) =>
      new Promise((resolve, reject) => {
        void end.then(() => reject(ended))
        child.stdout.once('data', (text: string) => resolve(text.trim()))
        child.stdin.write(`${line}\n`)
      }),
  }
}
