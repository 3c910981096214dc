import { roundedSize } from '../../../units.ts'
import type { Overview } from '../../overview.ts'
import { type Html, html } from '../html.ts'
import { mark } from '../marks.ts'
import { list, section } from '../table.ts'
import { count, counted, since } from '../words.ts'

/** Tells of the processes that serve clients. */
export const workers = ({ at, status }: Overview): Html =>
  section(
    'workers',
    'Processes',
    list([
      ['Node', `${status.node}, process ${status.pid}`],
      ...status.workers.map(
        ({ worker, pid, state, startedAt, restarts, inFlight, config }) =>
          [
            `worker ${worker}`,
            html`${mark(state === 'serving' ? 'good' : state === 'starting' || state === 'draining' ? 'off' : 'bad', state)}${pid !== null && ` process ${pid}`}${startedAt !== null && html` since ${since(at, startedAt)}`}${restarts > 0 && `, ${counted(restarts, 'restart')}`}${inFlight !== null && `, ${count(inFlight)} in flight`}${config !== null && config !== status.config.hash && html`, runs <code>${config}</code>`}`,
          ] as const,
      ),
    ]),
  )

/** Tells whether what happens is written down. */
export const records = ({ at, status: { audit, log } }: Overview): Html =>
  section(
    'records',
    'Audit and log',
    list([
      ['Audit log', audit === null ? 'off, or written by another process' : written(at, audit)],
      ['Log level', log.level],
      ['Log lines dropped', log.dropped === 0 ? '0' : html`<strong>${count(log.dropped)}</strong>`],
    ]),
  )

const written = (at: string, { reason, since: from, file, count: lines, waitingBytes, lost }: Audit): Html =>
  html`${reason === null ? mark('good', 'written') : mark('bad', 'failing')} since ${since(at, from)}${reason !== null && `: ${reason}`}, <span class="url">${file}</span>, ${counted(lines, 'line')}${waitingBytes > 0 && `, ${roundedSize(waitingBytes)} wait`}${lost > 0 && html`, <strong>${count(lost)} lost</strong>`}`

type Audit = NonNullable<Overview['status']['audit']>
