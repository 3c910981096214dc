import type { Reloader } from '../../../snapshot/reloader.ts'
import { unread } from '../../../snapshot/unread.ts'
import { refusalOf } from '../../carry-out.ts'
import { bad } from '../../orders.ts'
import { html, type Shown } from '../html.ts'
import { type Action, hrefOf } from './action.ts'
import { applied } from './outcome.ts'
import { paragraphs } from './words.ts'

/** Has the file read again; by force, without trying what it brings. */
export const reload: Action = {
  name: 'reload',
  takes: ['force'],
  async ask({ reloader }, { force }) {
    if (force !== undefined && force !== 'true') return notForce
    const { fileDiffers } = reloader.state
    const differs = fileDiffers || (await unread(reloader))
    return {
      title: force === undefined ? 'Reload the configuration?' : 'Reload the configuration by force?',
      what: paragraphs(
        html`${reloader.file} is read again. It ${differs ? 'says something else than what' : 'is what'} runs now (${reloader.config.hash}).`,
        'If it is sound, it takes effect at once, for new requests; those under way finish as they began. If anything in it is wrong, nothing changes, and the next page says what and where.',
        force === undefined ? tried(reloader) : byForce,
      ),
      ttlMs: null,
      button: force === undefined ? 'Reload' : 'Reload by force',
    }
  },
  async act(orders, { force }) {
    if (force !== undefined && force !== 'true') return notForce
    const outcome = await orders.reload(force !== undefined)
    return outcome.result === 'refused' ? refusalOf(outcome) : applied(outcome)
  },
}

const tried = ({ config, state }: Reloader): Shown =>
  config.reload.preflight === 'none'
    ? null
    : html`Endpoints that it brings are tried first: when none of a group can be reached, nothing changes either.${
        state.nextTryAt === null ? null : ' Just now an edit is held back for this reason.'
      } <a href="${hrefOf('reload', { force: 'true' })}">Take it without trying</a>`

const byForce = html`<strong>What it brings is not tried:</strong> a group whose endpoints are not there answers its clients with errors from then on.`

const notForce = bad('force is expected to be true, or to be left out; nothing was read')
