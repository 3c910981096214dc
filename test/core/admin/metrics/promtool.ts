import { execFile } from 'node:child_process'

/** Resolves with the complaints of promtool about an exposition. */
export const lint = (promtool: string, text: string): Promise<string> =>
  new Promise((resolve) => {
    const child = execFile(promtool, ['check', 'metrics'], (error, stdout, stderr) =>
      resolve(`${error === null ? '' : `exit ${error.code}: `}${stdout}${stderr}`),
    )
    child.stdin?.end(text)
  })
