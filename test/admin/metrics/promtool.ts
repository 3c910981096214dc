import { execFile } from 'node:child_process'

/** Has the promtool at a path look for what is not as Prometheus wants it; what it says, which is nothing when all is well. */
export const lint = (promtool: string, text: string): Promise<string> =>
  new Promise((resolve) => {
    const child = execFile(promtool, ['check', 'metrics'], (error, stdout, stderr) =>
      resolve(`${error === null ? '' : `exit ${error.code}: `}${stdout}${stderr}`),
    )
    child.stdin?.end(text)
  })
