import type { Overview } from '../../overview.ts'
import type { RefusalView } from '../../refusals.ts'
import { type Html, html, type Shown } from '../html.ts'
import { section, table } from '../table.ts'
import { moment } from '../words.ts'

/** Tells of the requests that were refused last, each with its reason. */
export const refusals = ({ at, refusals }: Overview): Html =>
  section(
    'refusals',
    'Refused requests',
    refusals.length === 0
      ? html`<p>None since the start.</p>`
      : html`<div class="box" role="region" aria-labelledby="refusals-heading" tabindex="0">${table<RefusalView>({
          id: 'refusals-table',
          caption: 'The last of them, the newest first',
          idOf: ({ at, requestId }) => `refusal-${at}-${requestId}`,
          bodies: [{ rows: refusals }],
          columns: [
            { title: 'When', cell: (refusal) => moment(at, refusal.at) },
            { title: 'Status', cell: ({ status, kind }) => html`<b>${status}</b> ${kind}` },
            { title: 'Operation', cell: target },
            {
              title: 'Why',
              kind: 'wide',
              cell: ({ reason, endpoint }) =>
                html`${reason}${endpoint !== null && html` <span class="age">at <span class="url">${endpoint}</span></span>`}`,
            },
            {
              title: 'Client',
              cell: ({ client, clientId }) => html`${clientId !== null && html`<b>${clientId}</b> `}${client}`,
            },
            {
              title: 'Request',
              cell: ({ requestId, traceId }) =>
                html`<code>${requestId}</code>${traceId !== null && html` <span class="age">trace <code>${traceId}</code></span>`}`,
            },
          ],
        })}</div>`,
  )

const target = ({ operation, method }: RefusalView): Shown =>
  operation ?? (method === null ? 'could not be read' : html`${method} to none of the nine`)
