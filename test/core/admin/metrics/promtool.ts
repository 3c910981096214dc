import { execFile } from 'node:child_process'

/** Runs the promtool at a path on an exposition. Resolves with its complaints: empty when there are none. */
export const lint = (promtool: string, text: string): Promise<string> =>
  new Promise((resolve) => {
    const child = execFile(promtool, ['check', 'metrics'], (error, stdout, stderr) =>
      resolve(`${error === null ? '' : `exit ${error.code}: `}${stdout}${stderr}`),
    )
    child.stdin?.end(text)
  })
