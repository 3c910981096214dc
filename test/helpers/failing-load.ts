import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Runs a script of ES modules in a process of its own, in which a file of a package cannot be read the first time: the
 * `nth` that is loaded of it. Returns what the script prints, as JSON.
 */
export const runWithFailingLoad = async (packageName: string, nth: number, script: string): Promise<unknown> => {
  const hook = `
    import { registerHooks } from 'node:module'
    let remaining = ${nth}
    const load = (url, context, next) => {
      if (url.includes('/node_modules/${packageName}/') && --remaining === 0)
        throw new Error('EMFILE: too many open files')
      return next(url, context)
    }
    registerHooks({ load })`
  const hookUrl = `data:text/javascript,${encodeURIComponent(hook)}`
  const args = [`--import=${hookUrl}`, '--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}
