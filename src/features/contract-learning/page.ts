import type { PlacedSection } from '../../core/admin/admin-part.ts'
import { type Html, html } from '../../core/admin/html.ts'
import { badge, commandLinks, timeHtml } from '../../core/admin/page-components.ts'
import { contractSection } from '../contract/page.ts'
import type { LearningStatus } from './status.ts'

const learningParagraph = (at: string, { by, setBy, enums, until }: LearningStatus): Html =>
  html`<p class="fine">${badge('notice', 'Learning')} by ${by === 'file' ? 'the file' : (setBy ?? 'an operator')}${until !== null && html` until ${timeHtml(at, until)}`}${enums && ', with enumerations'}. <a href="/contract/draft">The draft</a></p>`

export const pageSections: readonly PlacedSection[] = [
  {
    before: 'rejections',
    name: 'contract',
    link: 'Contract',
    render: (view) => {
      const { learning } = view.status
      return contractSection(view, {
        none: 'None is configured, and none is learned.',
        paragraph: learning && learningParagraph(view.at, learning),
        links: commandLinks('contract', learning),
      })
    },
  },
]
