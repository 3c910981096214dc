import { runCommand } from '../../core/cli/scripted-admin.ts'

export const explain = (admin: string, file: string, ...args: readonly string[]) =>
  runCommand(['explain', 'GET', '/market/insights', '--config', file, '--live', '--admin', admin, ...args])

/** Takes the text below the explanation. */
export const below = (out: string): string => out.slice(out.indexOf('just now, by '))
