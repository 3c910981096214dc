import { LineCounter } from 'yaml'
import type { FilePosition } from './problem.ts'

/** Makes a function that finds the line and the column of an offset in a text. It reads the text once, when asked. */
export const createPositionFinder = (text: string): ((offset: number) => FilePosition) => {
  let lines: LineCounter | null = null
  return (offset) => {
    lines ??= countLines(text)
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
}

const countLines = (text: string): LineCounter => {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) lines.addNewLine(end + 1)
  return lines
}
