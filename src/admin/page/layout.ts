import { assetAt } from './assets.ts'
import { type Html, html, type Shown } from './html.ts'

/** Is what a page is made of. */
export interface Page {
  readonly title: string
  /** What stands in `<main>`, an `<h1>` first. */
  readonly body: Shown
  /** What else stands in `<head>`: the scripts of a page that has some. */
  readonly head?: Shown
  /** What stands beside the name of the gateway, above `<main>`. */
  readonly beside?: Shown
}

/** Puts a page of the operator's listener together: one look, and nothing that runs unless `head` has it. */
export const layout = ({ title, body, head, beside }: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · lender gateway</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assetAt('page.css')}">
${head}</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><a class="name" href="/">lender gateway</a>${beside}</header>
<main id="main" tabindex="-1">
${body}
</main>
</body>
</html>
`
