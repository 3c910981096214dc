import { truncate } from '../../../core/admin/commands/phrases.ts'
import { type Html, html } from '../../../core/admin/html.ts'
import { formatCount, formatCounted, htmlTable } from '../../../core/admin/page-components.ts'
import { splitIntoParts } from '../../../core/config/diff/diff-reports.ts'
import type { Provenance, ProvenanceMap } from '../../../core/config/load/provenance.ts'
import { isPlainObject } from '../../../core/lib/plain-object.ts'
import type { Reloader } from '../../../core/runtime/reload/reloader.ts'
import { renderLayout } from './page-response.ts'

type Setting = ReturnType<typeof listSettings>[number]

/** Without secrets, each value with its line in the file. */
export const renderConfigurationPage = ({ file, running }: Pick<Reloader, 'file' | 'running'>): Html => {
  const { config, report, provenance } = running
  const parts = splitIntoParts(report.config)
  return renderLayout({
    title: 'Configuration',
    instance: config.instance,
    body: html`<h1>Configuration</h1>
<p>What runs: <code>${config.hash}</code>, from <code>${file}</code>. Secrets are <code>***</code>. A value that the file does not state is inherited, or built in. Lines are those of the file when it was read.</p>
<nav aria-label="Parts">${parts.map(({ part: name }) => html`<a href="#${name}">${name}</a> `)}</nav>
${parts.map(({ part: name, value: tree }) => partHtml(name, listSettings(name, tree, provenance), file))}<p><a href="/">To the overview</a></p>`,
  })
}

/** `key`: `timeouts.connect`, below the heading of its part. */
const listSettings = (part: string, tree: unknown, provenance: ProvenanceMap) =>
  flatten(tree).map(([path, value]) => ({
    key: path.join('.') || part,
    value,
    provenance: findProvenance([part, ...path], provenance),
  }))

/** A value without a place has the place of the part that holds it. */
const findProvenance = (path: readonly string[], provenance: ProvenanceMap): Provenance => {
  for (let length = path.length; length > 0; length--) {
    const found = provenance.get(path.slice(0, length).join('.'))
    if (found !== undefined) return found
  }
  return { source: 'built-in', line: 0, column: 0 }
}

const flatten = (value: unknown, path: readonly string[] = []): readonly (readonly [readonly string[], string])[] => {
  if (!isPlainObject(value)) return [[path, formatValue(value)]]
  const entries = Object.entries(value)
  return entries.length === 0 ? [[path, 'none']] : entries.flatMap(([key, below]) => flatten(below, [...path, key]))
}

// Of a longer list (thousands of clients), the page shows the length.
const maxListed = 20

const formatValue = (value: unknown): string => {
  if (!Array.isArray(value)) return String(value)
  if (value.length === 0) return 'none'
  if (value.length > maxListed) return `${formatCount(value.length)} entries`
  return truncate(value.map((each) => (isPlainObject(each) ? JSON.stringify(each) : String(each))).join(', '), 500)
}

const partHtml = (name: string, settings: readonly Setting[], file: string): Html => {
  const stated = settings.filter(({ provenance }) => provenance.line > 0)
  const others = settings.filter(({ provenance }) => provenance.line === 0)
  return html`<section id="${name}" aria-labelledby="${name}-heading">
<h2 id="${name}-heading">${name}</h2>
${stated.length > 0 && settingsTable(`${name}-stated`, 'What the file says', stated, file)}${
  others.length > 0 &&
  html`<details id="${name}-others"><summary>${formatCounted(others.length, 'built-in value')}</summary>${settingsTable(`${name}-built-in`, 'What is built in', others, file)}</details>`
}
</section>
`
}

const settingsTable = (id: string, caption: string, rows: readonly Setting[], file: string): Html =>
  htmlTable<Setting>({
    id,
    caption,
    // A group of operators may have blanks in its name; an element's id may not.
    idOf: ({ key }) => `${id}-${encodeURIComponent(key)}`,
    bodies: [{ rows }],
    columns: [
      { title: 'Key', cell: ({ key }) => html`<code>${key}</code>` },
      { title: 'Value', kind: 'wide', cell: ({ value }) => html`<code>${value}</code>` },
      { title: 'From', cell: ({ provenance }) => formatProvenance(provenance, file) },
    ],
  })

const formatProvenance = ({ source, line }: Provenance, file: string): Html | string =>
  line === 0 ? source : html`<code>${file}:${line}</code>${source !== 'file' && ` (${source})`}`
