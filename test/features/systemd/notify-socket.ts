/** Listens where systemd would: on a datagram socket with a path, which Node cannot open, so Python does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { folderWith } from '../../core/config/helper.ts'

export interface NotifySocket {
  /** The path, for NOTIFY_SOCKET. */
  readonly path: string
  /** The messages so far, each as its lines by name; `expired` where systemd would end the service. */
  readonly messages: readonly Readonly<Record<string, string>>[]
}

// The descriptor of a barrier is closed unread, and that is the reply to it.
const listener = `
import json, socket, sys
path, seconds = sys.argv[1], float(sys.argv[2])
taken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
taken.bind('\\0' + path[1:] if path[0] == '@' else path)
print('{}', flush=True)
while True:
    try:
        text = taken.recv(65536).decode()
    except socket.timeout:
        taken.settimeout(None)
        print(json.dumps({'expired': str(seconds)}), flush=True)
        continue
    if text == 'BARRIER=1':
        continue
    lines = dict(line.split('=', 1) for line in text.split('\\n') if line)
    if seconds and ('READY' in lines or 'WATCHDOG' in lines):
        taken.settimeout(seconds)
    print(json.dumps(lines), flush=True)
`

/**
 * Closed when the test has finished. With `watchdogMs` it reports `expired` after that time without a keep-alive.
 * `name`: of an abstract socket, with `@` in front; by default the socket has a path.
 */
export const openNotifySocket = async (python: string, watchdogMs = 0, name?: string): Promise<NotifySocket> => {
  const path = name ?? join(folderWith({}), 'notify')
  const child = spawn(python, ['-c', listener, path, String(watchdogMs / 1000)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const messages: Readonly<Record<string, string>>[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const whole = (rest + text).split('\n')
    rest = whole.pop() ?? ''
    messages.push(...whole.map((line) => JSON.parse(line)).filter((message) => Object.keys(message).length > 0))
  })
  await once(child.stdout, 'data')
  return { path, messages }
}
