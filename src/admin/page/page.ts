import type { Overview } from '../overview.ts'
import { logoutForm, type Visitor } from '../session/sessions.ts'
import { assetAt } from './assets.ts'
import { type Html, html } from './html.ts'
import { operations } from './sections/operations.ts'
import { refusals, reloads } from './sections/recent.ts'
import { cache, certificates, clients, limits, records, workers } from './sections/small.ts'
import { findings, summary } from './sections/summary.ts'
import { upstreams } from './sections/upstreams.ts'
import { layout } from './send.ts'

/** Lists the parts of the page, in the order in which somebody on call asks; each is the `id` of its element. */
export const sections = {
  summary,
  findings,
  operations,
  upstreams,
  reloads,
  refusals,
  limits,
  cache,
  clients,
  certificates,
  workers,
  records,
} as const satisfies Readonly<Record<string, (overview: Overview) => Html>>

export type SectionName = keyof typeof sections

// Those that are a line or two each stand beside one another.
const small: readonly SectionName[] = ['limits', 'cache', 'clients', 'certificates', 'workers', 'records']

/** Says in a few words how it stands: for the tab, which may be all that is seen of it. */
export const titleOf = ({ status: { findings, state } }: Overview): string => {
  const wrong = findings.filter(({ severity }) => severity !== 'notice').length
  return wrong > 0 ? `${wrong} wrong` : state
}

/** Writes the page for a visitor: all of it, so that it can be read without a script. */
export const page = (overview: Overview, visitor: Visitor): Html => {
  const note = visitor.noted()
  const written = (Object.keys(sections) as SectionName[]).map((name) => [name, sections[name](overview)] as const)
  return layout({
    title: titleOf(overview),
    head: html`<link rel="stylesheet" href="${assetAt('uplot.css')}">
<script src="${assetAt('uplot.js')}" defer></script>
<script src="${assetAt('idiomorph.js')}" defer></script>
<script src="${assetAt('page.js')}" type="module"></script>
`,
    beside: html`<p id="live" class="live" data-at="${overview.at}">as of <time datetime="${overview.at}">${overview.at.slice(11, 19)}</time> UTC</p>${logoutForm(visitor)}`,
    body: html`${note !== null && html`<p class="note" role="status">${note}</p>\n`}<noscript><p class="note">Without JavaScript the page stays as it was at ${overview.at}. <a href="/">Load it again</a></p></noscript>
${written.filter(([name]) => !small.includes(name)).map(([, part]) => html`${part}\n`)}<div class="grid">
${written.filter(([name]) => small.includes(name)).map(([, part]) => html`${part}\n`)}</div>
<p id="announced" class="unseen" aria-live="polite"></p>`,
  })
}
