import { runCommand } from '../../core/cli/scripted-admin.ts'

export const explain = (...args: readonly string[]) => runCommand(['explain', ...args])

export const settings = { listen: { basePath: '/lender', maxTarget: '128B', maxHeaders: '1KiB' } }

export const methods = ['GET', 'POST', 'HEAD', 'OPTIONS', 'CONNECT', 'M-SEARCH', 'PRI', 'get', 'BREW', 'ŇET', '']
