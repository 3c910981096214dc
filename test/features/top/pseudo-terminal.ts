/** Runs the command in a terminal of its own: a pty that util-linux' `script` opens. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { gatherText } from '../../helpers/gather-text.ts'

const main = fileURLToPath(new URL('../../../src/lender-gateway.js', import.meta.url))

// The sequence that restores the terminal, which no frame has.
export const restoreSequence = '\u001b[?7h\u001b[?25h\u001b[?1049l'

export interface PseudoTerminal {
  /** All output so far. */
  text(): string
  /** The last whole frame in the window, by lines, without colors. */
  frame(): readonly string[]
  shows(wanted: RegExp): Promise<void>
  type(keys: string): void
  resize(columns: number, rows: number): void
  signal(name: NodeJS.Signals): void
  /** Resolves after the command has ended, with its exit code and whether the settings of the terminal are restored. */
  readonly ended: Promise<{ readonly code: number; readonly isAsBefore: boolean }>
}

/** Runs the command with these arguments in a window of 100 by 30. */
export const runInTerminal = (
  script: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): PseudoTerminal => {
  const command = [process.execPath, main, ...args].map((word) => `'${word}'`).join(' ')
  const shell = [
    'stty cols 100 rows 30',
    'echo "tty=$(tty)"',
    'echo "before=$(stty -g)"',
    // Signals go to the command alone, whose pid this is.
    `sh -c 'echo "pid=$$"; exec "$@"' sh ${command}`,
    'echo "code=$? after=$(stty -g)"',
  ].join('; ')
  const child = spawn(script, ['--quiet', '--command', shell, '/dev/null'], {
    env: { ...process.env, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', NO_COLOR: '1', ...environment },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const text = gatherText(child.stdout)
  const reported = (name: string): string => new RegExp(`${name}=(\\S+)`).exec(text())?.[1] ?? ''
  return {
    text,
    frame() {
      const frames = text().split(restoreSequence)[0]?.split('\u001b[H') ?? []
      // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
      const lines = (frames.at(-1) ?? '').replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '').split(/\r*\n/)
      return lines.at(-1) === '' ? lines.slice(0, -1) : lines
    },
    shows: (wanted) => expect.poll(text, { timeout: 30_000, interval: 20 }).toMatch(wanted),
    type: (keys) => void child.stdin.write(keys),
    resize: (columns, rows) =>
      void execFileSync('stty', ['-F', reported('tty'), 'cols', String(columns), 'rows', String(rows)]),
    signal: (name) => void process.kill(Number(reported('pid')), name),
    ended: once(child, 'close').then(() => ({
      code: Number(reported('code')),
      isAsBefore: reported('before') !== '' && reported('before') === reported('after'),
    })),
  }
}
