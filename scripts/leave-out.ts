/**
 * Leaves features out: of a copy of the source, by `withoutLines`; of a process and its threads, by
 * `NODE_OPTIONS='--import ./scripts/leave-out.ts' LEFT_OUT=NAME,…`.
 */
import { registerHooks } from 'node:module'

export const list = 'src/features/index.ts'

/** Returns the source of the list of features without some of them. Throws for one that is not in it. */
export const withoutLines = (source: string, names: readonly string[]): string =>
  names.reduce((text, name) => {
    const [line, variable = ''] =
      new RegExp(`^import \\{ (\\w+) \\} from './${name}/index.ts'\\n`, 'm').exec(text) ?? []
    if (line === undefined) throw new Error(`${list} has no feature '${name}'`)
    return text.replace(line, '').replace(new RegExp(`(?<=[[\\s])${variable}(?:,\\s*|(?=]))`), '')
  }, source)

const names = process.env.LEFT_OUT?.split(',')
if (names !== undefined)
  registerHooks({
    load: (url, context, next) => {
      if (names.some((name) => url.includes(`/src/features/${name}/`))) throw new Error(`${url} is left out`)
      const loaded = next(url, context)
      return url.endsWith(list) ? { ...loaded, source: withoutLines(`${loaded.source}`, names) } : loaded
    },
  })
