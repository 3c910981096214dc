import type { ReadStream, WriteStream } from 'node:tty'
import type { Environment } from '../../core/config/environment.ts'

export type Tone = 'plain' | 'title' | 'good' | 'warning' | 'critical'

export interface ScreenLine {
  readonly text: string
  readonly tone: Tone
}

export interface TerminalCaps {
  readonly columns: number
  readonly rows: number
  readonly color: boolean
  readonly unicode: boolean
}

const codes: Readonly<Record<Tone, string>> = {
  plain: '',
  title: '\u001b[1m',
  good: '\u001b[32m',
  warning: '\u001b[33m',
  critical: '\u001b[31;1m',
}

export const line = (text: string, tone: Tone = 'plain'): ScreenLine => ({ text, tone })

export const drawLine = (
  { text, tone }: ScreenLine,
  { columns, color, unicode }: Omit<TerminalCaps, 'rows'>,
): string => {
  const shown = truncate(
    unicode ? text : text.replaceAll('’', "'").replaceAll(/[^\x20-\x7e]/g, '?'),
    columns,
    unicode ? '…' : '~',
  )
  return color && tone !== 'plain' ? `${codes[tone]}${shown}\u001b[0m` : shown
}

const maxWrappedChars = 2000

/** Breaks at blanks and indents the further lines. A word longer than the window is cut. */
export const wrapLine = ({ text, tone }: ScreenLine, columns: number, indent: number): readonly ScreenLine[] => {
  if (columns <= 2 * indent) return [line(text, tone)]
  const lines: ScreenLine[] = []
  let rest = text.slice(0, maxWrappedChars)
  while (rest.length > columns) {
    const at = rest.lastIndexOf(' ', columns)
    if (at <= indent) break
    lines.push(line(rest.slice(0, at).trimEnd(), tone))
    rest = ' '.repeat(indent) + rest.slice(at).trimStart()
  }
  return [...lines, line(rest, tone)]
}

const truncate = (text: string, columns: number, mark: string): string => {
  if (text.length <= columns) return text
  const characters = [...text]
  return characters.length <= columns ? text : `${characters.slice(0, Math.max(0, columns - 1)).join('')}${mark}`
}

// xterm sequences, which every current terminal knows: the alternate screen, no cursor, no line wrap.
const enterSequence = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const restoreSequence = '\u001b[?7h\u001b[?25h\u001b[?1049l'

/** Colors need a terminal and no NO_COLOR; non-ASCII text needs a UTF-8 locale. */
export const detectTerminalCaps = (
  stream: Pick<WriteStream, 'isTTY' | 'columns' | 'rows'>,
  environment: Environment,
): TerminalCaps => {
  const { NO_COLOR = '', LC_ALL = '', LC_CTYPE = '', LANG = '', TERM = '' } = environment
  return {
    columns: stream.isTTY ? stream.columns || 80 : Number.POSITIVE_INFINITY,
    rows: stream.isTTY ? stream.rows || 24 : Number.POSITIVE_INFINITY,
    color: stream.isTTY === true && NO_COLOR === '' && TERM !== 'dumb',
    unicode: /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG),
  }
}

/**
 * Restores the terminal when the process exits, also after an uncaught error, but not after a signal such as SIGKILL.
 */
export const openScreen = (
  { stdin, stdout }: { readonly stdin: ReadStream; readonly stdout: WriteStream },
  onKey: (key: string) => void,
  onResize: () => void,
) => {
  const onData = (keys: Buffer): void => {
    for (const key of keys.toString('latin1')) onKey(key)
  }
  let isOpen = true
  const close = (): void => {
    if (!isOpen) return
    isOpen = false
    stdout.write(restoreSequence)
    stdout.off('resize', onResize)
    process.off('exit', close)
    process.off('SIGCONT', onContinue)
    if (!stdin.isTTY) return
    stdin.off('data', onData)
    stdin.setRawMode(false)
    stdin.pause()
  }
  const takeTerminal = (): void => {
    stdout.write(enterSequence)
    if (stdin.isTTY) stdin.setRawMode(true) // otherwise keys wait for the end of a line, and show
  }
  const onContinue = (): void => {
    takeTerminal() // a shell had the terminal while this process was stopped
    onResize()
  }
  process.on('exit', close)
  process.on('SIGCONT', onContinue)
  stdout.on('resize', onResize)
  if (stdin.isTTY) stdin.on('data', onData)
  takeTerminal()
  return {
    draw(lines: readonly ScreenLine[], caps: TerminalCaps): void {
      // Clearing afterwards would cost a line as wide as the window its last character.
      const text = lines.map((row) => `\u001b[2K${drawLine(row, caps)}`).join('\r\n')
      stdout.write(`\u001b[H${text}${lines.length < caps.rows ? '\r\n\u001b[J' : ''}`)
    },
    close,
  }
}
