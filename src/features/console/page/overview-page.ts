import type { Principal } from '../../../core/admin/access/principal.ts'
import type { Overview, PageView } from '../../../core/admin/api/overview.ts'
import { type Html, html } from '../../../core/admin/html.ts'
import { logoutForm } from '../session/csrf.ts'
import { assetPath } from './assets.ts'
import { formatTitle, renderLayout } from './page-response.ts'
import { candidateSection } from './sections/candidate.ts'
import { clientActivitySection } from './sections/client-activity.ts'
import { comparisonSection } from './sections/comparison.ts'
import { contractSection } from './sections/contract.ts'
import { findingsSection } from './sections/findings.ts'
import { operationsSection } from './sections/operations.ts'
import { ordersSection, recentErrorsSection, reloadsSection } from './sections/recent-events.ts'
import {
  cacheSection,
  certificatesSection,
  clientsSection,
  idempotencySection,
  limitsSection,
  recordsSection,
  workersSection,
} from './sections/status-lists.ts'
import { summarySection } from './sections/summary.ts'
import { upstreamsSection } from './sections/upstreams.ts'

/** The sections of the page, in the order in which an operator on call asks. Each name is the `id` of its element. */
export const pageSections = {
  summary: summarySection,
  findings: findingsSection,
  operations: operationsSection,
  upstreams: upstreamsSection,
  candidates: candidateSection,
  comparison: comparisonSection,
  contract: contractSection,
  activity: clientActivitySection,
  refusals: recentErrorsSection,
  reloads: reloadsSection,
  orders: ordersSection,
  limits: limitsSection,
  cache: cacheSection,
  idempotency: idempotencySection,
  clients: clientsSection,
  certificates: certificatesSection,
  workers: workersSection,
  records: recordsSection,
} as const satisfies Readonly<Record<string, (view: PageView) => Html>>

export type SectionName = keyof typeof pageSections

export const renderSections = (view: PageView): readonly (readonly [SectionName, Html])[] =>
  (Object.keys(pageSections) as SectionName[]).map((name) => [name, pageSections[name](view)])

// Sections of a line or two stand beside one another.
const gridSections: readonly SectionName[] = [
  'orders',
  'limits',
  'cache',
  'idempotency',
  'clients',
  'certificates',
  'workers',
  'records',
]

// What the links to sections are called; the summary is in sight anyway.
const anchorTexts: Readonly<Record<Exclude<SectionName, 'summary'>, string>> = {
  findings: 'Wrong',
  operations: 'Operations',
  upstreams: 'Upstreams',
  candidates: 'Shift',
  comparison: 'Compared',
  contract: 'Contract',
  activity: 'By client',
  refusals: 'Refused',
  reloads: 'Reloads',
  orders: 'Orders',
  idempotency: 'Idempotency',
  limits: 'Limits',
  cache: 'Cache',
  clients: 'Clients',
  certificates: 'Certificates',
  workers: 'Processes',
  records: 'Audit and log',
}

/** Renders the links to the sections, and the switch that leaves only what is wrong. It works without a script. */
const sectionLinks = (): Html =>
  html`<nav aria-label="Sections">${Object.entries(anchorTexts).map(([name, text]) => html`<a href="#${name}">${text}</a> `)}</nav>
<p class="switch"><label><input type="checkbox" id="problems-only"> Problems only</label></p>`

/** Formats the title: the state in a few words, for the tab, which may be all that is seen of the page. */
export const pageTitle = ({ status: { findings, state, instance } }: Overview): string =>
  formatTitle(pageState(findings, state), instance)

const pageState = (findings: Overview['status']['findings'], state: string): string => {
  const wrong = findings.filter(({ severity }) => severity !== 'notice').length
  return wrong > 0 ? `${wrong} wrong` : state
}

/** Renders the whole page, so that it can be read without a script. */
export const renderOverviewPage = (overview: PageView, principal: Principal): Html => {
  const flash = principal.takeFlash()
  const rendered = renderSections(overview)
  return renderLayout({
    title: pageState(overview.status.findings, overview.status.state),
    instance: overview.status.instance,
    head: html`<link rel="stylesheet" href="${assetPath('uplot.css')}">
<script src="${assetPath('uplot.js')}" defer></script>
<script src="${assetPath('idiomorph.js')}" defer></script>
<script src="${assetPath('page.js')}" type="module"></script>
`,
    beside: html`<p id="live" class="live" data-at="${overview.at}">as of <time datetime="${overview.at}">${overview.at.slice(11, 19)}</time> UTC</p>${logoutForm(principal)}`,
    body: html`${flash !== null && html`<p class="note" role="status">${flash}</p>\n`}<noscript><p class="note">Without JavaScript the page stays as it was at ${overview.at}. <a href="/">Load it again</a></p></noscript>
<div class="tools">${sectionLinks()}</div>
${rendered.filter(([name]) => !gridSections.includes(name)).map(([, part]) => html`${part}\n`)}<div class="grid">
${rendered.filter(([name]) => gridSections.includes(name)).map(([, part]) => html`${part}\n`)}</div>
<p id="announced" class="unseen" aria-live="polite"></p>`,
  })
}
