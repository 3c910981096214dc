/** Reads the dashboard for Grafana that is shipped. */
import { examples, read } from '../files.ts'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly datasource?: { readonly uid: string }
  readonly targets?: readonly { readonly expr: string }[]
  readonly links?: readonly { readonly url: string }[]
}

interface Dashboard {
  readonly panels: readonly Panel[]
  readonly links: readonly { readonly url: string }[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr?: string }[] }
}

export const dashboard = JSON.parse(read(`${examples}/grafana/lender-gateway.json`)) as Dashboard

/** Where docs/ is read, as the rules and the dashboard are shipped. */
export const runbooks = 'https://runbooks.example/lender-gateway'

/** Lists every expression that a panel shows, as Prometheus gets it when all of everything is chosen. */
export const expressions = (window: string) =>
  dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expression: chosen(expr, window) })),
  )

/** Lists the expressions of what is marked in every panel, as Prometheus gets them. */
export const marks = dashboard.annotations.list.flatMap(({ name, expr }) =>
  expr === undefined ? [] : [{ name, expression: chosen(expr, '1m') }],
)

/** Puts into an expression what Grafana would. */
function chosen(expression: string, window: string): string {
  const variables = {
    $__rate_interval: window,
    $job: 'lender-gateway',
    $instance: '.*',
    $operation: '.+',
    $client: '.+',
  }
  return Object.entries(variables).reduce((text, [name, value]) => text.replaceAll(name, value), expression)
}
