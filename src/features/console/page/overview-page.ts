import type { Principal } from '../../../core/admin/access/principal.ts'
import type { Overview, PlacedSection, SectionPlace } from '../../../core/admin/admin-part.ts'
import { adminParts } from '../../../core/admin/admin-parts.ts'
import { type Html, html } from '../../../core/admin/html.ts'
import { insertBeside } from '../../../core/lib/beside.ts'
import type { PageView } from '../../overview/overview.ts'
import { assetPath } from './assets.ts'
import { formatTitle, logoutForm, renderLayout } from './page-response.ts'
import { findingsSection } from './sections/findings.ts'
import { operationsSection } from './sections/operations.ts'
import { commandsSection, recentErrorsSection, reloadsSection } from './sections/recent-events.ts'
import {
  certificatesSection,
  processesSection,
  recordsSection,
  recordsTitle,
  summarySection,
} from './sections/status-lists.ts'
import { upstreamsSection } from './sections/upstreams.ts'

const pageParts = await Promise.all(adminParts.flatMap(({ loadPage }) => loadPage?.() ?? []))

const records = pageParts.flatMap(({ recordRow }) => recordRow ?? [])
const processRows = pageParts.flatMap((part) => part.processRows ?? [])
const sideFacts = pageParts.flatMap(({ sideFact }) => sideFact ?? [])

interface PageSection {
  /** Null: no link, since the section is at the top. */
  readonly link: string | null
  readonly render: (view: PageView) => Html
}

/** In the order in which an operator on call asks. Each name is an element's `id`. */
const ownSections = {
  summary: { link: null, render: summarySection },
  findings: { link: 'Wrong', render: findingsSection },
  operations: { link: 'Operations', render: operationsSection },
  upstreams: { link: 'Upstreams', render: (view) => upstreamsSection(view, sideFacts) },
  rejections: { link: 'Rejected', render: recentErrorsSection },
  reloads: { link: 'Reloads', render: reloadsSection },
  commands: { link: 'Commands', render: commandsSection },
  certificates: { link: 'Certificates', render: certificatesSection },
  workers: { link: 'Processes', render: (view) => processesSection(view, processRows) },
  records: { link: recordsTitle(records), render: (view) => recordsSection(view, records) },
} as const satisfies Readonly<Record<string, PageSection>>

const featureSections = [
  ...new Map(pageParts.flatMap(({ pageSections = [] }) => pageSections).map((each) => [each.name, each])).values(),
]

type NamedSection = PageSection & { readonly name: string }

const named = Object.fromEntries(
  Object.entries<PageSection>(ownSections).map(([name, each]) => [name, { ...each, name }]),
) as Readonly<Record<keyof typeof ownSections, NamedSection>>

const withFeatures = (place: (section: PlacedSection) => SectionPlace): readonly NamedSection[] =>
  insertBeside<keyof typeof ownSections, NamedSection>(
    named,
    featureSections.map((each) => ({ ...place(each), value: each })),
  )

const sections = withFeatures((each) => each)
const links = withFeatures((each) => each.linkPlace ?? each)

export const pageSections: Readonly<Record<string, (view: PageView) => Html>> = Object.fromEntries(
  sections.map(({ name, render }) => [name, render]),
)

export const renderSections = (view: PageView): readonly (readonly [name: string, section: Html])[] =>
  sections.map(({ name, render }) => [name, render(view)])

// Short sections stand side by side from here on.
const gridFrom = sections.findIndex(({ name }) => name === 'commands')

/** The switch that leaves only problems works without JavaScript. */
const sectionLinks = (): Html =>
  html`<nav aria-label="Sections">${links.map(({ name, link }) => link !== null && html`<a href="#${name}">${link}</a> `)}</nav>
<p class="switch"><label><input type="checkbox" id="problems-only"> Problems only</label></p>`

/** An operator may see only the tab. */
export const pageTitle = ({ status: { findings, state, instance } }: Overview): string =>
  formatTitle(pageState(findings, state), instance)

const pageState = (findings: Overview['status']['findings'], state: string): string => {
  const wrong = findings.filter(({ severity }) => severity !== 'notice').length
  return wrong > 0 ? `${wrong} wrong` : state
}

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
${rendered.slice(0, gridFrom).map(([, part]) => html`${part}\n`)}<div class="grid">
${rendered.slice(gridFrom).map(([, part]) => html`${part}\n`)}</div>
<p id="announced" class="unseen" aria-live="polite"></p>`,
  })
}
