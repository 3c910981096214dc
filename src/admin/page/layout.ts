import { type Html, html, type Shown } from './html.ts'

/** Is what a page is made of. */
export interface Page {
  readonly title: string
  /** What stands in `<main>`. */
  readonly body: Shown
}

/** Puts a page of the operator's listener together: one look, and nothing that runs. */
export const layout = ({ title, body }: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · lender gateway</title>
<link rel="stylesheet" href="/assets/page.css">
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
